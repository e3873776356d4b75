import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The terminal behind standard output, and the one behind standard input.
enum Terminal {
    static var isThere: Bool { isatty(STDOUT_FILENO) == 1 }

    /// `true` if a person can answer on standard input.
    static var canAnswer: Bool { isatty(STDIN_FILENO) == 1 }

    /// Columns and rows; `nil` if the terminal does not report them.
    static var size: (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Returns a text that draws lines over the previous ones without flicker (ECMA-48: CUP, EL, ED).
    static func redraw(_ lines: [String]) -> String {
        "\u{1B}[H" + lines.map { $0 + "\u{1B}[K\r\n" }.joined() + "\u{1B}[J"
    }
}
