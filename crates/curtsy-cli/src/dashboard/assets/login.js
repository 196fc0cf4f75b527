// Trades the token for a session. A token in the fragment never leaves the browser but by this.
const form = document.getElementById('login');
const field = document.getElementById('token');
const wrong = document.getElementById('wrong');

async function open(token) {
  const answer = await fetch('/login', { method: 'POST', body: token });
  if (answer.ok) {
    location.replace('/');
  } else {
    wrong.textContent = await answer.text();
    field.select();
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  open(field.value);
});

const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  history.replaceState(null, '', '/');
  open(given);
}
