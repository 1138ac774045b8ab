// Adds a button to each block of code, which copies it. Without this script the pages are complete.

const shownMs = 1_600;

const status = document.createElement('p');
status.setAttribute('role', 'status');
status.className = 'heard';
document.body.append(status);

for (const block of document.querySelectorAll('pre')) {
  const frame = document.createElement('div');
  frame.className = 'copyable';
  block.replaceWith(frame);
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => copy(block, button));
  frame.append(block, button);
}

function copy(block, button) {
  // Browsers copy for secure pages only. What is selected can be copied by hand.
  const select = () => {
    getSelection()?.selectAllChildren(block);
    status.textContent = 'Selected';
  };
  const copying = navigator.clipboard?.writeText(block.textContent.trimEnd());
  if (copying === undefined) select();
  else copying.then(() => tellCopied(button), select);
}

function tellCopied(button) {
  button.textContent = status.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = 'Copy';
    status.textContent = '';
  }, shownMs);
}
