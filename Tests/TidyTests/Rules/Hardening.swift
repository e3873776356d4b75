/// Dependencies in the package of checked builds: each target must have every module that its sources import. No
/// ordinary build compiles that package, so a missing module would be noticed only when somebody next looks for a race.
enum Hardening {
    private static let system: Set<String> = [
        "Darwin", "Dispatch", "Foundation", "Glibc", "Musl", "Synchronization", "Testing",
    ]
    private static let targets = Pattern(#"\.(?:testT|executableT|t)arget\([ \t\n]*name: "([\w-]+)""#)
    private static let constants = Pattern(#"^let (\w+)(?:: \[Target\.Dependency\])? = (?=\[\n|product)"#)
    private static let words = Pattern(#"\w+"#)

    static func check(_ sources: [Source], manifest: String) -> [Finding] {
        let known = names(in: manifest)
        return sources.filter { $0.isSwift && $0.isUnder("Sources", "Tests") && $0.folders.count > 1 }.flatMap {
            source in
            guard let given = known[source.folders[1]] else { return [Finding]() }
            return Arrows.imported(by: source).filter { !given.contains($0.text) && !system.contains($0.text) }.map {
                Finding(
                    source.path, line: $0.line, "imports \($0.text), which Hardening/Package.swift does not give",
                    "name it in the dependencies of \(source.folders[1]) there")
            }
        }
    }

    /// Returns the targets whose folder, a link to the real one, does not resolve.
    static func lost(in manifest: String, isFolder: (_ path: String) -> Bool) -> [Finding] {
        names(in: manifest).keys.filter { name in
            !["Sources", "Tests"].contains { isFolder("Hardening/\($0)/\(name)") }
        }.map { Finding("Hardening/Sources/\($0)", "is no folder and no link to one", "link it to the target's") }
    }

    /// Returns the modules that each target may import: every word of its description and of the constants that it
    /// names.
    private static func names(in manifest: String) -> [String: Set<String>] {
        let starts = constants.matches(in: manifest)
        let values = Dictionary(
            starts.enumerated().map { index, start in
                (start.text, said(manifest, from: start.offset, to: starts.dropFirst(index + 1).first?.offset))
            }, uniquingKeysWith: { first, _ in first })
        let places = targets.matches(in: manifest)
        var names: [String: Set<String>] = [:]
        for (index, place) in places.enumerated() {
            let own = said(manifest, from: place.offset, to: places.dropFirst(index + 1).first?.offset)
            names[place.text, default: []].formUnion(own.union(own.flatMap { values[$0] ?? [] }))
        }
        return names
    }

    private static func said(_ text: String, from start: Int, to end: Int?) -> Set<String> {
        let part = Array(text.utf8)[start..<(end ?? text.utf8.count)]
        return Set(words.matches(in: String(decoding: part, as: UTF8.self)).map(\.text))
    }
}
