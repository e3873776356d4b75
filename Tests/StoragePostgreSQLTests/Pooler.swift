import Foundation
import PostgresCluster

/// PgBouncer before a server, until `stop` or the end of this process (https://www.pgbouncer.org/config.html).
final class Pooler: Sendable {
    private let directory: URL
    private let keeper: Process
    private let lifeline = Pipe()

    /// - Parameter mode: The setting `pool_mode`: `session` or `transaction`.
    init(to cluster: PostgresCluster, mode: String) throws {
        directory = cluster.directory.appending(path: "pool-\(mode)")
        keeper = Process()
        let script = """
            set -eu
            mkdir "$1"
            cd "$1"
            echo '"islet" ""' >users
            cat >settings <<END
            [databases]
            * = host=$2
            [pgbouncer]
            unix_socket_dir = $1
            listen_port = 5432
            auth_type = trust
            auth_file = users
            pool_mode = $3
            END
            exec 2>log
            # Foundation's Process waits until all its descriptors are closed.
            (for file in /dev/fd/*; do
                number=${file##*/}
                [ "$number" -le 2 ] || eval "exec $number>&-"
            done
            exec /usr/sbin/pgbouncer settings >log) &
            until [ -S .s.PGSQL.5432 ]; do kill -0 $!; done
            echo ready
            cat >/dev/null || true
            # This process's threads block other signals, and it inherits that.
            kill -KILL $!
            """
        let words = ["/bin/bash", "-c", script, "pooler", directory.path, cluster.directory.path, mode]
        keeper.executableURL = URL(filePath: getuid() == 0 ? "/usr/sbin/runuser" : words[0])
        keeper.arguments = getuid() == 0 ? ["-u", "postgres", "--"] + words : Array(words.dropFirst())
        keeper.standardInput = lifeline
        let output = Pipe()
        keeper.standardOutput = output
        try keeper.run()
        guard String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "ready\n" else {
            let log = try? String(contentsOf: directory.appending(path: "log"), encoding: .utf8)
            throw PostgresCluster.Failure(description: "PgBouncer does not start: \(log ?? "no log")")
        }
    }

    /// Folder of its socket, as the `host` of a URL.
    var folder: URL { directory }

    func stop() {
        try? lifeline.fileHandleForWriting.close()
        keeper.waitUntilExit()
    }
}
