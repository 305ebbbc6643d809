// On paper nothing can be clicked: the witnesses of the list are printed in full.

const MOST_PRINTED = 30;

function beforePrint() {
  const some = listed.all.slice(0, MOST_PRINTED);
  const left = listed.all.length - some.length;
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
  find("printed").hidden = true;
  replace(find("printed"));
  document.body.classList.remove("printing");
}
