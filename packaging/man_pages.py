#!/usr/bin/env python3
"""Writes manual pages from what `islet --experimental-dump-help` prints:

    islet --experimental-dump-help | packaging/man_pages.py --version 0.1.0 --date 2026-11-21 FOLDER

Each command has a page, such as islet-keys.1 with `keys create` and the other commands below it. islet.1 lists them.
"""

import argparse
import json
import pathlib
import re
import sys


def escaped(text):
    """Text in which roff sees no request, escape or hyphenation of its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def prose(text):
    """Paragraphs, in which what stands between backticks is bold."""
    parts = text.strip().split("`")
    words = "".join(f"\\fB{escaped(part)}\\fR" if odd % 2 else escaped(part) for odd, part in enumerate(parts))
    return "\n.PP\n".join(re.sub(r"^([.'])", r"\\&\1", line) for line in words.split("\n") if line.strip())


def shown(items):
    return [item for item in items or [] if item.get("shouldDisplay", True)]


def subcommands(command):
    return [each for each in shown(command.get("subcommands")) if each["commandName"] != "help"]


def spelled(name):
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def own_arguments(command, is_top):
    """The arguments without those that every command has, which islet.1 explains."""
    return [
        each for each in shown(command.get("arguments"))
        if is_top or each["valueName"] not in ("help", "version")]


def synopsis(path, command, is_top):
    words = [f"\\fB{escaped(' '.join(path))}\\fR"]
    for each in own_arguments(command, is_top):
        value = f"\\fI{escaped(each['valueName'])}\\fR"
        if each["kind"] == "positional":
            word = value
        else:
            word = f"\\fB{escaped(spelled(each['preferredName']))}\\fR"
            if each["kind"] == "option":
                word += f" {value}"
        word += "..." if each["isRepeating"] else ""
        words.append(f"[{word}]" if each["isOptional"] else word)
    if subcommands(command):
        words.append("\\fIcommand\\fR")
    return " ".join(words)


def option(argument):
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        head = value
    else:
        names = ", ".join(f"\\fB{escaped(spelled(name))}\\fR" for name in argument["names"])
        head = names + (f" {value}" if argument["kind"] == "option" else "")
    body = prose(argument.get("abstract") or "")
    if argument.get("allValues"):
        body += f"\nValues: {escaped(', '.join(argument['allValues']))}."
    if argument.get("defaultValue"):
        body += f"\nDefault: {escaped(argument['defaultValue'])}."
    return f".TP\n{head}\n{body}"


def described(path, command, is_top=False):
    """What a command does and its options, in roff."""
    lines = [prose(text) for text in (command.get("abstract"), command.get("discussion")) if text]
    text = "\n.PP\n".join(lines)
    options = [option(each) for each in own_arguments(command, is_top)]
    return "\n".join([text, *options])


def nested(path, command):
    """Every command below this one."""
    for each in subcommands(command):
        yield [*path, each["commandName"]], each
        yield from nested([*path, each["commandName"]], each)


def page(path, command, header, see):
    abstract = command.get("abstract", "").split(". ")[0].rstrip(".").replace("`", "")
    is_top = len(path) == 1
    lines = [
        f'.TH "{"-".join(path).upper()}" 1 {header}', ".nh", ".ad l", ".SH NAME",
        f"{escaped('-'.join(path))} \\- {escaped(abstract[:1].lower() + abstract[1:])}",
        ".SH SYNOPSIS", synopsis(path, command, is_top), ".SH DESCRIPTION", described(path, command, is_top)]
    if is_top:
        lines += [".SH COMMANDS"]
        for each in subcommands(command):
            lines += [".TP", f"\\fBislet\\-{escaped(each['commandName'])}\\fR(1)", prose(each.get("abstract", ""))]
    elif subcommands(command):
        lines += [".SH COMMANDS"]
        for below, each in nested(path, command):
            lines += [f".SS {escaped(' '.join(below))}", synopsis(below, each, False), ".PP", described(below, each)]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {escaped(name)} (1)" for name in see).replace(",\n.BR", " ,\n.BR")]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    islet = json.load(sys.stdin)["command"]
    header = f'"{given.date}" "islet {given.version}" "Islet"'
    given.folder.mkdir(parents=True, exist_ok=True)
    pages = {("islet",): islet, **{("islet", each["commandName"]): each for each in subcommands(islet)}}
    names = ["-".join(path) for path in pages]
    for path, command in pages.items():
        see = names[1:] if len(path) == 1 else names[:1]
        (given.folder / f"{'-'.join(path)}.1").write_text(page(list(path), command, header, see), encoding="utf-8")


if __name__ == "__main__":
    main()
