import ArgumentParser
import EmbeddedIslet
import JSONText
import LiveActivityStorage
import StorageSQL
import StorageSQLite

extension Keys {
    /// The `islet keys rotate-storage` command, which changes the keys of the push tokens in the database.
    struct RotateStorage: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rotates the keys that seal push tokens and re-encrypts every token.",
            discussion: """
                Can run beside a running server, which uses the new keys from the next change on. The new keys are \
                added to the ring; the earlier ones stay there until --retire. If the command is killed, the next run \
                resumes the rotation. Keep a copy of the ring as it is now: a backup of the database needs the keys \
                that were in use when it was made.
                """)

        @OptionGroup var file: ConfigurationOption
        @Flag(help: "Reports how many rows still need each key, and changes nothing.") var status = false
        @Flag(help: "Removes keys from the ring that no row needs. Backups of the database may need them!")
        var retire = false
        @Flag(help: "Prints JSON.") var json = false

        func validate() throws {
            if status, retire { throw ValidationError("--status or --retire, not both") }
        }

        func run() async throws {
            let settings = try file.settings()
            let store = try settings.database.open(
                for: .administration, tokenKeys: settings.tokenKeys,
                faultPoints: try FaultInjection.points())
            defer { store.close() }
            let rotation = try TokenRotation(store)
            if status {
                try await printStatus(rotation)
            } else if retire {
                try await retire(rotation, settings)
            } else {
                try await rotate(rotation)
            }
        }

        private func rotate(_ rotation: TokenRotation) async throws {
            // The pause is as long as the write before it, so that the rotation takes at most half of the writer's
            // time.
            let summary = try await rotation.rotate { spent in
                try await Task.sleep(for: max(spent, .milliseconds(2)))
            }
            if json {
                return Output.json([
                    "isResumed": .bool(summary.isResumed), "inUse": .array(summary.inUse.map(JSONValue.string)),
                    "resealed": .object(Self.counts(summary.resealed)),
                    "damaged": .object(Self.counts(summary.damaged)),
                ])
            }
            if summary.isResumed { Output.line("resumed an unfinished rotation") }
            Output.line("in use: \(summary.inUse.joined(separator: ", "))")
            for (table, rows) in summary.resealed.sorted(by: { $0.key < $1.key }) {
                Output.line("re-sealed \(Wording.count(rows, "row")) of \(table)")
            }
            for (table, rows) in summary.damaged.sorted(by: { $0.key < $1.key }) {
                Output.line("left \(Wording.count(rows, "row")) of \(table) that cannot be decrypted: they are damaged")
            }
            Output.line("keep a copy of the ring as it is now; the earlier keys stay in it until --retire")
        }

        /// Returns numbers of rows by table.
        private static func counts(_ rows: [String: Int]) -> JSONObject {
            rows.sorted { $0.key < $1.key }.reduce(into: [:]) { $0[$1.key] = .number(JSONNumber($1.value)) }
        }

        private func printStatus(_ rotation: TokenRotation) async throws {
            let uses = try await rotation.uses()
            if json {
                let keys = uses.map { key -> JSONValue in
                    [
                        "id": .string(key.id), "use": .string(key.isSealing ? "seals" : "looks-up"),
                        "isInUse": .bool(key.isInUse), "rows": .number(JSONNumber(key.rows)),
                    ]
                }
                return Output.json(["keys": .array(keys)])
            }
            for key in uses {
                let use = key.isSealing ? "seals" : "looks up"
                Output.line(
                    "\(key.id)  \(use)  \(key.isInUse ? "in use" : "earlier")  \(Wording.count(key.rows, "row"))")
            }
        }

        private func retire(_ rotation: TokenRotation, _ settings: Settings) async throws {
            let retirement = try await rotation.retire()
            if json {
                let kept = retirement.kept.map { key -> JSONValue in
                    ["id": .string(key.id), "rows": .number(JSONNumber(key.rows))]
                }
                Output.json([
                    "retired": .array(retirement.retired.map(JSONValue.string)), "kept": .array(kept),
                ])
                if !kept.isEmpty { throw ExitCode.failure }
                return
            }
            for key in retirement.retired { Output.line("retired \(key): no row of the database needs it") }
            if retirement.retired.isEmpty {
                Output.line("every key is still in use; nothing to retire")
            } else {
                Output.line(advice(settings))
            }
            for key in retirement.kept {
                Output.line("kept \(key.id): \(Wording.count(key.rows, "row")) still need it; run the rotation first")
            }
            if !retirement.kept.isEmpty { throw ExitCode.failure }
        }

        private func advice(_ settings: Settings) -> String {
            let backups = "a backup that was made before may need it: keep a copy of the ring with it"
            if case .given(_, let name) = settings.tokenKeys {
                return "remove it from the variable \(name); \(backups)"
            }
            return backups
        }
    }

    /// The `islet keys new-ring` command, which prints a first ring of keys.
    struct NewRing: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "new-ring",
            abstract: "Prints a new ring of the keys that seal push tokens, secrets included, on standard output.",
            discussion: """
                For `tokenKeys` of the configuration: `islet keys new-ring --output token-keys.json`. If the file \
                exists, it stays as it is, so that a set-up can run again.
                """)

        @OptionGroup var file: ConfigurationOption
        @Option(help: "A new file for the ring, which only its owner can read.", completion: .file())
        var output: String?
        @Flag(help: "Prints the configured ring with new keys in front, for a ring in an environment variable.")
        var renewed = false

        func validate() throws {
            guard output == nil || !renewed else {
                throw ValidationError("--renewed is for a ring in an environment variable: leave out --output")
            }
        }

        func run() throws {
            if let output {
                guard !FileSteps.exists(output) else {
                    return Output.line("\(output) is there already: no ring was made")
                }
                try Output.secret(TokenKeyRing.fresh().text, into: output)
                return Output.line("a new ring is in \(output)")
            }
            guard renewed else { return Output.text(TokenKeyRing.fresh().text) }
            switch try file.settings().tokenKeys {
            case .given(let ring, _): Output.text(try ring.renewed().text)
            case .file(let path, _):
                throw CommandError("the ring is the file \(path): `islet keys rotate-storage` adds keys to it")
            }
        }
    }
}
