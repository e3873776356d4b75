/// Words that the repository must not contain.
enum Words {
    // Joined at run time, so that this file passes its own rules.
    private static let unfinished = Pattern(
        #"\b("# + ["FIX" + "ME", "TO" + "DO", "X" + "XX", "HA" + "CK"].joined(separator: "|") + #")\b"#)
    private static let machine = Pattern(
        #"(?<![\w./~:-])(/(?:"# + ["work", "tmp", "root", "opt", "home", "Users"].joined(separator: "|")
            + #")/[\w.-]*)"#)

    static func unfinishedWork(_ source: Source) -> [Finding] {
        unfinished.matches(in: source.text).map {
            Finding(source.path, line: $0.line, "\($0.text) says that something is not done", "do it, or open an issue")
        }
    }

    /// Checks for paths of one machine, which mean nothing on another.
    static func machinePaths(_ source: Source) -> [Finding] {
        guard !source.isUnder("Tests", "script", ".ci", "packaging/test") else { return [] }
        return machine.matches(in: source.text).map {
            Finding(
                source.path, line: $0.line, "\($0.text) is a path of one machine",
                "name it from the repository's root, or let the user give it")
        }
    }
}

/// A rule for names of folders: a folder is named for the role of its content.
enum Folders {
    private static let empty: Set<String> = [
        "Utils", "Utilities", "Helpers", "Managers", "Models", "Common", "Misc", "Extensions",
    ]

    static func check(_ source: Source) -> [Finding] {
        source.folders.filter(empty.contains).map {
            Finding(source.path, "the folder name \($0) says nothing", "name the role of what is in it")
        }
    }
}

/// A rule for the manifest: it builds every folder of sources.
enum Manifest {
    /// Checks that each folder is the name of a target or a path in the manifest.
    static func check(_ folders: [String], under top: String, manifest: String) -> [Finding] {
        folders.filter { !manifest.contains("\"\($0)\"") && !manifest.contains("\"\(top)/\($0)\"") }.map {
            Finding(
                "\(top)/\($0)", "Package.swift does not name this folder, so that nothing in it is built or run",
                "add the target, or delete the folder")
        }
    }
}
