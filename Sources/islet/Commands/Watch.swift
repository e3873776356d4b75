import ArgumentParser
import JSONText
import LiveActivityAPI

/// The `islet watch` command, which follows one activity of a running server.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follows one activity of a running server.",
        discussion: """
            Shows the desired state, its delivery progress, the status of each phone, and the latest timeline entries. \
            On a terminal the screen is redrawn until nothing more can change or you press Ctrl-C; otherwise changes \
            are printed below each other. --once prints it once.
            """)

    @OptionGroup var server: ServerOption
    @Argument(help: "The activity's id.") var activity: String
    @Option(help: "Seconds between two readings, from 0.2 to 3600.") var every = 1.0
    @Option(help: "How many phones to list, up to 1000.") var phones = 15
    @Flag(help: "Prints the activity once.") var once = false
    @Flag(help: "Prints JSON, one line for each change.") var json = false

    func validate() throws {
        guard 0.2...3600 ~= every else { throw ValidationError("--every is from 0.2 to 3600") }
        guard 0...1000 ~= phones else { throw ValidationError("--phones is from 0 to 1000") }
    }

    func run() async throws {
        let caller = try server.caller()
        var pace = FanOutPace()
        var printed: [String]?
        var last: WatchScreen?
        repeat {
            var screen: WatchScreen
            do {
                screen = try await look(by: caller)
            } catch let error as CommandError {
                // An error at the first look ends the command. A later error is shown, because the server may recover.
                guard var old = last else { throw error }
                old.trouble = "\(error); this is what was known before"
                screen = old
            }
            if screen.trouble == nil { pace.see(screen.view.fanOut, of: screen.view.revision, at: screen.now) }
            screen.secondsLeft = screen.view.fanOut.flatMap { pace.secondsLeft(of: $0) }
            last = screen
            try show(screen, instead: &printed)
            guard !once, !screen.isOver || screen.trouble != nil else { return }
            try await ContinuousClock().sleep(for: .seconds(every))
        } while true
    }

    private func look(by caller: JSONCaller) async throws -> WatchScreen {
        let path = "/v1/activities/\(JSONCaller.segment(activity))"
        let view = try await server.get("\(path)?limit=\(1000)", by: caller)
        let timeline = try await server.get(
            "\(path)/timeline?newest=true&limit=\(WatchScreen.Size().entries)", by: caller)
        do throws(JSONDecodingError) {
            return WatchScreen(
                view: try view.decode(ActivityView.self), timeline: try timeline.decode(TimelineView.self).entries,
                now: .current)
        } catch {
            throw CommandError("\(server.server) is another version: \(error)")
        }
    }

    private func show(_ screen: WatchScreen, instead printed: inout [String]?) throws {
        guard !json else {
            let line = try screen.json
            guard printed != [line] else { return }
            printed = [line]
            return Output.line(line)
        }
        var size = WatchScreen.Size()
        size.phones = phones
        guard !once, Terminal.isThere, let terminal = Terminal.size else {
            // The first line has the seconds since the change. If only they differ, nothing is new.
            let lines = screen.lines(size)
            let news = Array(lines.dropFirst())
            guard printed != news else { return }
            if printed != nil { Output.line("") }
            printed = news
            return Output.text(lines.map { $0 + "\n" }.joined())
        }
        // The last row stays free for the cursor.
        (size.columns, size.rows) = (terminal.columns, terminal.rows - 1)
        if printed == nil { Output.text("\u{1B}[2J") }
        printed = []
        Output.text(Terminal.redraw(screen.lines(size)))
    }
}
