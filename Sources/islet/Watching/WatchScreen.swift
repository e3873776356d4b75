import JSONText
import LiveActivityAPI

/// The screen of `islet watch`: the desired state, its progress, each phone, and the latest timeline entries.
struct WatchScreen {
    let view: ActivityView
    /// Newest entries of the timeline, oldest first.
    let timeline: [TimelineView.Entry]
    let now: Instant
    /// Estimated seconds until the change has reached all phones; `nil` if unknown.
    var secondsLeft: Int?
    /// Reason why this screen is out of date; `nil` if it is current.
    var trouble: String?

    /// Size of the drawing.
    struct Size: Equatable {
        var columns = 100
        /// Maximum number of rows; `nil`: no limit.
        var rows: Int?
        var phones = 15
        var entries = 10
    }

    private static let bar = 24

    /// `true` if nothing will change without a further call: no card is left, and nothing is in flight.
    var isOver: Bool {
        let open = ["requesting", "starting", "unconfirmed", "live", "ending"]
        return view.phase == "ended" && view.fanOut == nil && !open.contains { view.counts[$0, default: 0] > 0 }
    }

    func lines(_ size: Size) -> [String] {
        let top = head + [""] + shares + [""]
        let size = fitted(size, below: top.count)
        let lines = top + phones(size.phones) + [""] + happened(size.entries)
        return lines.prefix(size.rows ?? .max).map { Self.cut($0, to: size.columns) }
    }

    /// Returns the number of phones and entries that fit. Entries get a third of the room, or what the phones leave.
    private func fitted(_ size: Size, below top: Int) -> Size {
        guard let rows = size.rows else { return size }
        var size = size
        let room = max(0, rows - top - 1)
        let table = phones(size.phones).count
        size.entries = min(size.entries, timeline.count, max(room / 3, room - table))
        // The table needs two more lines: its head, and the number of phones that do not fit.
        if table > room - size.entries { size.phones = max(0, room - size.entries - 2) }
        return size
    }

    private var head: [String] {
        var lines = [
            "\(view.activity)  \(view.type), \(view.phase), run \(view.run), revision \(view.revision), "
                + "changed \(Wording.ago(view.updatedAt, now: now))",
            JSONValue.object(view.state).text,
        ]
        if let reason = view.reason { lines.append("! \(reason.text)") }
        if let trouble { lines.append("! \(trouble)") }
        return lines
    }

    /// The screen's contents for programs.
    var json: String {
        get throws(JSONEncodingError) {
            var document: JSONObject = [
                "activity": try JSONValue(encoding: view), "timeline": try JSONValue(encoding: timeline),
            ]
            document["trouble"] = trouble.map(JSONValue.string)
            return JSONValue.object(document).text
        }
    }

    // MARK: - Progress

    private var shares: [String] {
        var lines: [String] = []
        if let fanOut = view.fanOut {
            let left = secondsLeft.map { ", about \(Wording.rough($0)) left" } ?? ""
            lines.append(share("sending", fanOut.done, fanOut.phones, "phones processed\(left)"))
        }
        let listed = view.devices
        let among = view.next == nil ? "phones" : "phones listed"
        let has = listed.count { $0.revision >= view.revision }
        let shows = listed.count { ($0.shownRevision ?? 0) >= view.revision }
        lines.append(
            share(
                "accepted", has, listed.count,
                "\(among) were sent revision \(view.revision) and APNs "
                    + "accepted it"))
        lines.append(share("held", shows, listed.count, "\(among) confirmed it"))
        let counts = view.counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let more = view.more.map { ["and \($0.grouped) not counted"] } ?? []
        let words = counts.map { "\($0.key) \($0.value.grouped)" } + more
        lines.append(words.isEmpty ? "on no phone" : words.joined(separator: ", "))
        return lines
    }

    private func share(_ name: String, _ part: Int, _ whole: Int, _ words: String) -> String {
        let bar = Wording.bar(whole > 0 ? Double(part) / Double(whole) : 0, width: Self.bar)
        return name.padding(to: 10) + bar + "  \(part.grouped) of \(whole.grouped) \(words)"
    }

    // MARK: - Phones and timeline

    private func phones(_ limit: Int) -> [String] {
        guard !view.devices.isEmpty, limit > 0 else { return [] }
        // Phones that lack the newest revision come first, because people look for them.
        let sorted =
            view.devices.filter { $0.revision < view.revision } + view.devices.filter { $0.revision >= view.revision }
        let table = Columns.text(
            ["PHONE", "PERSON", "CARD", "REVISION", "CONFIRMED", "STATUS"],
            sorted.prefix(limit).map {
                [$0.device, $0.user, $0.state, String($0.revision), $0.confirmation.rawValue, $0.reason.text]
                    .map(Self.plain)
            })
        let rest = view.devices.count - min(limit, view.devices.count) + (view.more ?? 0)
        return table.split(separator: "\n").map(String.init)
            + (rest > 0 ? ["and \(rest.grouped) more"] : [])
    }

    private func happened(_ limit: Int) -> [String] {
        timeline.suffix(limit).map { entry in
            let status = entry.status.map { " (\($0))" } ?? ""
            return "\(Self.time(entry.at))  \(entry.kind.padding(to: 16))  "
                + "\(entry.device.map { "\($0): " } ?? "")r\(entry.revision) \(entry.text)\(status)"
        }
    }

    /// Returns a time such as `14:32:05`, in UTC like the logs.
    private static func time(_ moment: Instant) -> String { String(moment.description.dropFirst(11).prefix(8)) }

    /// Returns text without control characters. Ids and states come from others, and could otherwise move the
    /// terminal's cursor.
    private static func plain(_ text: String) -> String {
        String(text.map { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? $0 : "�" })
    }

    private static func cut(_ line: String, to columns: Int) -> String {
        let safe = plain(line)
        return safe.count > columns ? safe.prefix(max(0, columns - 1)) + "…" : safe
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
