"""Puts the page's files together as a C file: bundle.py PAGE_FOLDER OUT.c

The modules of a bundle become one program: docs/page-format.md. Everything is written once, at build
time, with the SHA-256 of programs and styles in the page's security policy."""
import base64
import hashlib
import os
import re
import sys

IMPORT = re.compile(r"^import \{([^}]*)\} from '\./([a-z_]+\.js)';\n", re.M)
EXPORT = re.compile(r"^export (?=(?:const|let|function|async function|class) )", re.M)
NAME = re.compile(r"^(?:export )?(?:const|let|function|async function|class) (\w+)", re.M)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def order(folder, name, done):
    """The files of a bundle, each behind those that it imports."""
    if name in done:
        return
    text = read(folder, name)
    done[name] = None
    for names, imported in IMPORT.findall(text):
        order(folder, imported, done)
        known = set(NAME.findall(read(folder, imported)))
        missing = {one.strip() for one in names.split(",") if one.strip()} - known
        if missing:
            sys.exit(f"{name}: {imported} has no {', '.join(sorted(missing))}")
    done[name] = done.pop(name) or text


def bundle(folder, name):
    files = {}
    order(folder, name, files)
    seen = {}
    for file, text in files.items():
        for top in NAME.findall(text):
            if top in seen:
                sys.exit(f"{file}: '{top}' is in {seen[top]}, too")
            seen[top] = file
    parts = [EXPORT.sub("", IMPORT.sub("", text)) for text in files.values()]
    program = "\n'use strict';\n(() => {\n" + "\n".join(parts) + "})();\n"
    if "</script" in program.lower():
        sys.exit(f"{name}: a program must not end its own element")
    return program


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def to_c(name, text):
    rows = [f"const char {name}[] = {{"]
    data = text.encode() + b"\0"
    for at in range(0, len(data), 24):
        rows.append("\t" + " ".join(f"{byte if byte < 128 else byte - 256}," for byte in data[at:at + 24]))
    return "\n".join(rows) + "\n};\n"


def main():
    folder, out = sys.argv[1:]
    page, worker = bundle(folder, "main.js"), bundle(folder, "worker.js")
    style = "\n" + read(folder, "page.css")
    policy = (f"default-src 'none'; script-src {digest(page)}; worker-src blob:; "
              f"style-src {digest(style)}; img-src data:; base-uri 'none'; form-action 'none'")
    text = read(folder, "page.html").replace("{{policy}}", policy).replace("{{style}}", style)
    head, rest = text.split("{{story}}")
    body, tail = rest.split("{{parts}}")
    body = body.replace("{{worker}}", worker).replace("{{program}}", page)
    with open(out, "w", encoding="utf-8") as file:
        file.write('#include "page_file.h"\n\n')
        file.write(to_c("vs_page_bundle_head", head) + to_c("vs_page_bundle_body", body) +
                   to_c("vs_page_bundle_tail", tail))


if __name__ == "__main__":
    main()
