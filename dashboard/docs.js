// Shows the pages in the theme that the reader chose in the dashboard, marks the page in the contents, and adds a button to
// each block of code, which copies it. Without this script the pages are complete.

// Before the first paint, so that the theme does not flash.
try {
  const theme = localStorage.getItem('tollgate.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.classList.add(theme);
} catch {}

const announcement = document.createElement('p');
document.addEventListener('DOMContentLoaded', () => {
  nameAddress();
  foldContents();
  addCopyButtons();
});

// The address that a gateway without a configured one believes to have. The reader knows a better one.
function nameAddress() {
  const { address = location.origin } = document.documentElement.dataset;
  for (const code of document.querySelectorAll('code')) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() !== null) {
      const text = texts.currentNode;
      if (text.data.includes(address)) text.data = text.data.replaceAll(address, location.origin);
    }
  }
}

// On a phone the contents are folded, because they come before the text.
function foldContents() {
  const contents = document.querySelector('nav');
  for (const link of contents.querySelectorAll('li a'))
    if (link.pathname === location.pathname && link.hash === '') link.setAttribute('aria-current', 'page');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'unfold';
  button.textContent = 'Contents';
  const fold = (isFolded) => button.setAttribute('aria-expanded', `${!isFolded}`);
  fold(true);
  button.addEventListener('click', () => fold(button.getAttribute('aria-expanded') === 'true'));
  contents.addEventListener('click', ({ target }) => {
    if (target.closest('a') !== null) fold(true);
  });
  contents.prepend(button);
}

const shownMs = 1_600;

function addCopyButtons() {
  announcement.setAttribute('role', 'status');
  announcement.className = 'heard';
  document.body.append(announcement);
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
}

function copy(block, button) {
  // Browsers copy for secure pages only. What is selected can be copied by hand.
  const select = () => {
    getSelection()?.selectAllChildren(block);
    announcement.textContent = 'Selected';
  };
  const copying = navigator.clipboard?.writeText(block.textContent.trimEnd());
  if (copying === undefined) select();
  else copying.then(() => tellCopied(button), select);
}

function tellCopied(button) {
  button.textContent = announcement.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = 'Copy';
    announcement.textContent = '';
  }, shownMs);
}
