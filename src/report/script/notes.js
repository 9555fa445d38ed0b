// Tooltips that appear immediately and on touch screens, unlike those of the browser.

const note = document.createElement("div");
note.className = "note";
note.hidden = true;
document.body.append(note);

for (const title of document.querySelectorAll("svg.plot title")) {
  const mark = title.parentNode;
  mark.dataset.note = title.textContent;
  mark.setAttribute("aria-label", title.textContent);
  title.remove();
}

function showNote(event) {
  const mark = event.target instanceof Element ? event.target.closest("[data-note]") : null;
  note.hidden = !mark;
  if (!mark) return;
  note.textContent = mark.dataset.note;
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - note.offsetWidth - 8);
  const [above, below] = [event.clientY - note.offsetHeight - 12, event.clientY + 18];
  const top = below + note.offsetHeight > window.innerHeight && above > 0 ? above : below;
  note.style.left = `${Math.max(8, left) + window.scrollX}px`;
  note.style.top = `${top + window.scrollY}px`;
}

document.addEventListener("pointermove", showNote, { passive: true });
document.addEventListener("pointerdown", showNote, { passive: true });
