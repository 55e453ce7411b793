// The page's policy allows neither style elements nor style attributes that a script
// writes. The terminal makes both; here they become what the policy allows: style sheets
// that are constructed, and properties of an element's style.

/** A document whose elements can be styled by those means. */
export function quietly(real: Document): Document {
  return new Proxy(real, {
    get(target, name) {
      if (name === "createElement") return maker(target);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface Inside {
  _core?: { _renderService?: { _renderer?: { value?: { _rowFactory?: { _document?: Document } } } } };
}

/** Has an open terminal make its rows in that document; xterm 6.0 takes the real one whatever it is told. */
export function rowsIn(terminal: object, quiet: Document): void {
  const factory = (terminal as Inside)._core?._renderService?._renderer?.value?._rowFactory;
  if (factory?._document) factory._document = quiet;
}

/** Runs something during which the real document makes such elements. */
export function whileQuiet(real: Document, run: () => void): void {
  const make = maker(real);
  Object.defineProperty(real, "createElement", { configurable: true, value: make });
  try {
    run();
  } finally {
    delete (real as { createElement?: unknown }).createElement; // its class has one
  }
}

function maker(real: Document) {
  return (tag: string, options?: ElementCreationOptions): HTMLElement => {
    const make = Document.prototype.createElement.bind(real) as Document["createElement"];
    if (tag === "style") return sheet(real, make("template"));
    const element = make(tag, options);
    if (tag === "span") {
      const set = element.setAttribute.bind(element);
      element.setAttribute = (name: string, value: string) => {
        if (name === "style") element.style.cssText = value;
        else set(name, value);
      };
    }
    return element;
  };
}

/** An element in place of a style element: its text is a sheet of the document while it is there. */
function sheet(real: Document, element: HTMLElement): HTMLElement {
  const css = new CSSStyleSheet();
  let text = "";
  real.adoptedStyleSheets = [...real.adoptedStyleSheets, css];
  Object.defineProperty(element, "textContent", {
    get: () => text,
    set: (value: string) => css.replaceSync((text = value)),
  });
  const remove = element.remove.bind(element);
  element.remove = () => {
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((s) => s !== css);
    remove();
  };
  return element;
}
