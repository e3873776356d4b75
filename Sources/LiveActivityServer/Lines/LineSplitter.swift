package import NIOCore

/// A splitter of bytes into lines, whatever pieces the bytes arrive in.
package struct LineSplitter {
    package enum Line: Equatable {
        case text([UInt8])
        /// A line over the limit. Its bytes were dropped.
        case tooLong
    }

    private let limit: Int
    private var pending = ByteBuffer()
    /// Number of pending bytes that are known to have no end of line.
    private var scanned = 0
    private var isDropping = false
    /// Number of lines so far, including empty ones, so that a number finds its line in the sender's file.
    package private(set) var count = 0

    package init(limit: Int) {
        self.limit = limit
    }

    package mutating func append(_ bytes: ByteBuffer) {
        if pending.readableBytes == 0 {
            pending = bytes
            scanned = 0
        } else {
            pending.discardReadBytes()
            pending.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next complete line that is not empty.
    package mutating func next() -> Line? {
        while true {
            let view = pending.readableBytesView
            guard let end = view[(view.startIndex + scanned)...].firstIndex(of: UInt8(ascii: "\n")) else {
                scanned = pending.readableBytes
                if scanned > limit { drop() }
                return nil
            }
            let length = end - view.startIndex
            let bytes = pending.readBytes(length: length) ?? []
            pending.moveReaderIndex(forwardBy: 1)
            scanned = 0
            if let line = line(bytes) { return line }
        }
    }

    /// Returns what is left at the end of the input. The last line needs no line feed.
    package mutating func finish() -> Line? {
        let bytes = pending.readBytes(length: pending.readableBytes) ?? []
        scanned = 0
        guard isDropping || !bytes.isEmpty else { return nil }
        return line(bytes)
    }

    private mutating func drop() {
        pending.clear()
        scanned = 0
        isDropping = true
    }

    private mutating func line(_ bytes: [UInt8]) -> Line? {
        count += 1
        defer { isDropping = false }
        if isDropping || bytes.count > limit { return .tooLong }
        let text = bytes.last == UInt8(ascii: "\r") ? Array(bytes.dropLast()) : bytes
        return text.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } ? nil : .text(text)
    }
}
