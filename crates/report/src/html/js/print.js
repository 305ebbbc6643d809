// On paper nothing can be clicked: the witnesses of the list are printed in full.

const MOST_PRINTED = 30;

/** How it was decided belongs on paper; afterwards it is as it was. */
let wasOpen = null;
function openMethod(printing) {
  const method = document.querySelector(".method");
  if (!method) return;
  if (printing && wasOpen === null) wasOpen = method.open;
  method.open = printing || wasOpen === true;
  if (!printing) wasOpen = null;
}

function beforePrint() {
  const some = listed.all.slice(0, MOST_PRINTED);
  const left = listed.all.length - some.length;
  openMethod(true);
  if (some.length === 0) return;
  replace(find("printed"), some.map((witness) => {
    const shown = witnessNode(witness);
    for (const details of shown.querySelectorAll("details")) details.open = true;
    return el("article.witness", null, shown);
  }), left > 0 && el("p", null, `${grouped(left)} more witnesses are in the file.`));
  find("printed").hidden = false;
  document.body.classList.add("printing");
}

function afterPrint() {
  openMethod(false);
  find("printed").hidden = true;
  replace(find("printed"));
  document.body.classList.remove("printing");
}
