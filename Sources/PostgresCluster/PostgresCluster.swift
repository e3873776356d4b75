package import Foundation

/// A PostgreSQL server of this process alone, with its files in a temporary directory. It ends with the process,
/// however that ends.
///
/// The server refuses to run as root, so it then runs as the user `postgres` of Debian's package.
package final class PostgresCluster: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    /// Directory with the server's data, log and socket.
    package let directory: URL
    /// Port of the server: of its socket, and of the loopback network if it listens there.
    package let port: UInt16
    private let listens: Bool
    private let hasDisk: Bool
    private let programs: URL
    private let keeper: Process
    private let lifeline: Pipe

    /// Starts a server and waits until it answers.
    ///
    /// - Parameters:
    ///   - port: A free port on which the server also listens on the loopback network; `nil` for its socket alone.
    ///   - settings: Further settings, such as `max_connections=20`.
    ///   - disk: Megabytes of a file system of its own for the server's data, which needs root; `nil` for none.
    package init(port: UInt16? = nil, settings: [String] = [], disk: Int? = nil) throws {
        self.port = port ?? 5432
        listens = port != nil
        hasDisk = disk != nil
        programs = try Self.findPrograms()
        directory = FileManager.default.temporaryDirectory.appending(path: "islet-pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        if getuid() == 0 { try Self.run("/bin/chown", ["-R", "postgres", directory.path]) }
        lifeline = Pipe()
        keeper = Process()
        let network = port.map { ["listen_addresses=127.0.0.1", "port=\($0)"] } ?? []
        let options = (network + settings).map { "-c \($0)" }.joined(separator: " ")
        let server = Self.asServer("/bin/bash", ["-c", Self.script, "cluster", programs.path, directory.path, options])
        let command = disk.map { Self.onDisk(of: $0, at: directory, server) } ?? server
        keeper.executableURL = URL(filePath: command[0])
        keeper.arguments = Array(command.dropFirst())
        keeper.standardInput = lifeline
        let output = Pipe()
        keeper.standardOutput = output
        try keeper.run()
        // The server's programs have time limits of their own. Without a server, the output ends without this word.
        var said = ""
        while !said.hasSuffix("ready\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Failure(description: "PostgreSQL does not start: \(said.suffix(2000))") }
            said += String(decoding: data, as: UTF8.self)
        }
    }

    /// Makes the files of a server, runs it until standard input ends, and removes everything.
    private static let script = """
        set -eu
        programs=$1 directory=$2 options=$3
        cd "$directory"
        exec 2>&1
        "$programs/initdb" -D data -U islet -A trust -E UTF8 --locale=C.UTF-8 --no-sync
        "$programs/pg_ctl" -D data -l server.log -w -t 50 \\
            -o "-k $directory -c listen_addresses='' -c max_connections=200 $options" start
        echo ready
        cat >/dev/null || true
        for data in data standby; do
            [ ! -d $data ] || "$programs/pg_ctl" -D $data -m immediate -w stop || true
        done
        cd /
        rm -rf "$directory"
        """

    /// URL of a database of the server, for libpq.
    package func url(_ database: String, through socket: URL? = nil) -> String {
        listens && socket == nil
            ? "postgres://islet@127.0.0.1:\(port)/\(database)"
            : "postgres://islet@/\(database)?host=\((socket ?? directory).path)&port=\(port)"
    }

    /// Runs a statement in the database `postgres`.
    package func run(_ statement: String) throws {
        try Self.run(
            programs.appending(path: "psql").path,
            [
                "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-h", directory.path, "-p", "\(port)", "-U",
                "islet", "-d",
                "postgres", "-c",
                statement,
            ])
    }

    /// The server's data on its own disk, for processes outside; `nil` without such a disk.
    package var disk: URL? {
        hasDisk ? URL(filePath: "/proc/\(keeper.processIdentifier)/root\(directory.path)/data") : nil
    }

    // MARK: - A standby

    /// Adds a standby. From now on, a commit is answered when both servers have it.
    ///
    /// It follows through the loopback network if the first server listens there.
    ///
    /// - Parameter group: Number of the group that the standby's processes, and so its sockets, belong to; `nil` for
    ///   the user's. Another group needs root.
    package func addStandby(group: Int? = nil) throws {
        let first = listens ? "-h 127.0.0.1 -p \(port)" : "-h \"$directory\""
        try runScript(
            """
            "$programs/pg_basebackup" \(first) -U islet -D standby -R -X stream --no-sync
            mkdir second
            """)
        try start("standby", "second", group: group)
        try run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try run("SELECT pg_reload_conf()")
    }

    /// Stops the standby, which then lacks what is committed until it is started again.
    package func stopStandby() throws { try runScript("\"$programs/pg_ctl\" -D standby -m immediate -w stop") }

    package func startStandby() throws { try start("standby", "second") }

    /// Starts the first server again after a failover or a crash. It takes writes, whether it has a successor or not.
    package func startFirst() throws { try start("data", ".") }

    /// Returns `true` if the first server's process is there, whether it answers or not.
    package var isFirstRunning: Bool {
        (try? runScript("\"$programs/pg_ctl\" -D data status")) != nil
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - data: Directory with its data, within this one.
    ///   - socket: Directory of its socket.
    ///   - group: Number of the group of its processes.
    private func start(_ data: String, _ socket: String, group: Int? = nil) throws {
        try runScript(
            group: group,
            """
            # A server that was killed has left them, and its number may be another process's by now.
            rm -f \(data)/postmaster.pid \(socket)/.s.PGSQL.5432*
            # Foundation's Process waits until all its descriptors are closed, so the server gets none of them.
            (for file in /dev/fd/*; do
                number=${file##*/}
                [ "$number" -le 2 ] || eval "exec $number>&-"
            done
            exec "$programs/pg_ctl" -D \(data) -l \(data).log -w -t 50 \\
                -o "-k $directory/\(socket) -c listen_addresses='' -c max_connections=200" start)
            """)
    }

    /// URL of a database of whichever server takes writes, for libpq.
    package func pairURL(_ database: String) -> String {
        "postgres://islet@/\(database)?host=\(directory.path),\(directory.path)/second&port=\(port),5432"
    }

    /// Kills the server that takes writes, with all its processes.
    package func crash() throws { try signalPrimary("KILL") }

    /// Stops all processes of the server that takes writes, until `resume`.
    package func pause() throws { try signalPrimary("STOP") }

    package func resume() throws { try signalPrimary("CONT") }

    private func signalPrimary(_ signal: String) throws {
        try runScript(
            """
            primary=data
            # The file is gone after the promotion.
            [ ! -d standby ] || [ -f standby/standby.signal ] || primary=standby
            # Each process of the server is the leader of a session, so they have no group in common.
            read -r server <$primary/postmaster.pid
            # It starts no further process, and is the parent of those that it has started.
            kill -STOP "$server"
            for stat in /proc/[0-9]*/stat; do
                read -r process _ _ parent _ 2>/dev/null <"$stat" || continue
                [ "$parent" != "$server" ] || kill -\(signal) "$process" 2>/dev/null || true
            done
            kill -\(signal) "$server"
            """)
    }

    /// Makes the standby a server that takes writes. Nothing protects the first server's clients if it comes back.
    package func promoteStandby() throws {
        try runScript("\"$programs/pg_ctl\" -D standby -w -t 50 promote")
    }

    private func runScript(group: Int? = nil, _ text: String) throws {
        // A file takes the words: a server that the script starts would keep a pipe open.
        let script = "set -eu\nprograms=$1 directory=$2\ncd \"$directory\"\nexec >script.log 2>&1\n\(text)"
        var command = Self.asServer(
            "/bin/bash", ["-c", script, "cluster", programs.path, directory.path], group: group)
        if hasDisk {
            command = ["/usr/bin/nsenter", "--target", "\(keeper.processIdentifier)", "--mount", "--"] + command
        }
        let process = Process()
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let words = try? String(contentsOf: directory.appending(path: "script.log"), encoding: .utf8)
            throw Failure(description: "PostgreSQL: \(words ?? "no words")")
        }
    }

    /// Ends the server and removes its files.
    package func stop() {
        try? lifeline.fileHandleForWriting.close()
        keeper.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: - Programs

    /// Returns the directory with the newest server's programs, as Debian and others install them.
    private static func findPrograms() throws -> URL {
        let debian = URL(filePath: "/usr/lib/postgresql")
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: debian.path)) ?? []).compactMap(Int.init)
        var places = versions.sorted(by: >).map { debian.appending(path: "\($0)/bin") }
        places += (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map {
            URL(filePath: String($0))
        }
        for place in places
        where FileManager.default.isExecutableFile(atPath: place.appending(path: "initdb").path) { return place }
        throw Failure(description: "PostgreSQL is missing: run script/test, which installs it (Debian: postgresql)")
    }

    /// Returns a command that runs a program as the user of the server.
    private static func asServer(_ program: String, _ arguments: [String], group: Int? = nil) -> [String] {
        let command = [program] + arguments
        guard getuid() == 0 else { return command }
        if let group {
            return ["/usr/bin/setpriv", "--reuid", "postgres", "--regid", "\(group)", "--clear-groups", "--"] + command
        }
        return ["/usr/sbin/runuser", "-u", "postgres", "--"] + command
    }

    /// Returns a command that runs another where the data of a server in a directory has a disk of its own. The disk is
    /// in memory, and ends with the command's processes.
    private static func onDisk(of megabytes: Int, at directory: URL, _ command: [String]) -> [String] {
        let mount = """
            mkdir "$1/data" && mount -t tmpfs -o size="$0"m,mode=700 none "$1/data" && chown postgres "$1/data" &&
                shift && exec "$@"
            """
        return ["/usr/bin/unshare", "-m", "sh", "-c", mount, "\(megabytes)", directory.path] + command
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let words = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(program): \(String(decoding: words, as: UTF8.self))")
        }
    }
}
