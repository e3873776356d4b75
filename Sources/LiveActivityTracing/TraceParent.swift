/// Place of a span in its trace, as the `traceparent` header carries it between processes (W3C Trace Context).
package struct TraceParent: Sendable, Hashable {
    package var trace: (high: UInt64, low: UInt64) {
        get { (traceHigh, traceLow) }
        set { (traceHigh, traceLow) = newValue }
    }
    private var traceHigh: UInt64
    private var traceLow: UInt64
    package var span: UInt64
    /// `true` if the process that began the trace wants it kept.
    package var isSampled: Bool

    package init(trace: (high: UInt64, low: UInt64), span: UInt64, isSampled: Bool) {
        (traceHigh, traceLow) = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// Reads a value such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. Later versions may append
    /// fields.
    ///
    /// Returns `nil` for other text. Then a new trace begins (section 3.2.2.3).
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, let version = Self.hex(parts[0], digits: 2), version != 0xff,
            parts.count == 4 || version > 0, parts[1].utf8.count == 32,
            let high = Self.hex(parts[1].prefix(16), digits: 16), let low = Self.hex(parts[1].suffix(16), digits: 16),
            let span = Self.hex(parts[2], digits: 16), let flags = Self.hex(parts[3], digits: 2),
            high | low != 0, span != 0
        else { return nil }
        self.init(trace: (high, low), span: span, isSampled: flags & 1 == 1)
    }

    package var text: String { "00-\(traceID)-\(Self.text(span))-\(isSampled ? "01" : "00")" }
    package var traceID: String { Self.text(traceHigh) + Self.text(traceLow) }
    package var spanID: String { Self.text(span) }

    static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Only lowercase digits are valid in the standard.
    private static func hex(_ text: some StringProtocol, digits: Int) -> UInt64? {
        guard text.utf8.count == digits,
            text.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            })
        else { return nil }
        return UInt64(text, radix: 16)
    }
}
