// Adds a button to each block of code, which copies it. Without this script the pages are complete.

// The address that a gateway without a configured one believes to have. The reader knows a better one.
const { address = location.origin } = document.documentElement.dataset;
for (const code of document.querySelectorAll('code')) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const text = texts.currentNode;
    if (text.data.includes(address)) text.data = text.data.replaceAll(address, location.origin);
  }
}

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
