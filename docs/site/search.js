// Finds parts of pages in which all words occur. The index is read at the first key.
const root = document.documentElement.dataset.root;
const query = document.getElementById('site-query');
const found = document.getElementById('site-found');
const page = document.querySelector('.page');
let index;

function score(entry, words) {
  let sum = 0;
  const title = entry.title.toLowerCase(), heading = (entry.heading ?? '').toLowerCase(), text = entry.text.toLowerCase();
  for (const word of words) {
    const here = (heading.includes(word) ? 8 : 0) + (title.includes(word) ? 4 : 0) + Math.min(3, text.split(word).length - 1);
    if (here === 0) return 0;
    sum += here;
  }
  return sum + (entry.path.startsWith('guide/') ? 2 : 0);
}

function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const from = Math.max(0, at - 60);
  return (from > 0 ? '…' : '') + text.slice(from, from + 180) + (text.length > from + 180 ? '…' : '');
}

async function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = words.length === 0;
  page.hidden = !found.hidden;
  if (words.length === 0) return;
  index ??= fetch(root + 'search.json').then((answer) => answer.json());
  const all = (await index).map((entry) => ({ entry, points: score(entry, words) })).filter((hit) => hit.points > 0);
  all.sort((a, b) => b.points - a.points);
  found.replaceChildren(...all.slice(0, 30).map(({ entry }) => {
    const link = document.createElement('a');
    link.href = root + entry.path;
    const name = document.createElement('b');
    name.textContent = entry.heading ? `${entry.title} · ${entry.heading}` : entry.title;
    const text = document.createElement('span');
    text.textContent = excerpt(entry.text, words[0]);
    link.append(name, text);
    return link;
  }));
  if (all.length === 0) found.textContent = 'Nothing has all of these words.';
}

query.addEventListener('input', search);
document.addEventListener('keydown', (e) => {
  if (e.key === '/' && document.activeElement !== query) {
    e.preventDefault();
    query.focus();
  } else if (e.key === 'Escape') {
    query.value = '';
    search();
  }
});
found.addEventListener('click', () => { // a link to this page does not load it again
  query.value = '';
  search();
});
