/// Keeps iOS from suspending the app while something is left to report.
///
/// iOS grants some seconds and then ends them. The next event asks again, because an app that is woken anew gets new
/// seconds.
final class BackgroundTime: Sendable {
    private struct Held: Sendable {
        /// The number of the last request.
        var number = 0
        var isAsked = false
        var release: (@Sendable () -> Void)?
    }

    private let phone: any PhonePort
    private let held = Locked(Held())

    init(_ phone: any PhonePort) { self.phone = phone }

    func hold(_ isNeeded: Bool) {
        if isNeeded { ask() } else { release() }
    }

    private func ask() {
        let number = held.withLock { held -> Int? in
            guard !held.isAsked else { return nil }
            held.isAsked = true
            held.number += 1
            return held.number
        }
        guard let number else { return }
        let release = phone.stayAwake { [held] in
            held.withLock { held in
                guard held.number == number else { return }
                (held.isAsked, held.release) = (false, nil)
            }
        }
        held.withLock { if $0.isAsked { $0.release = release } }
    }

    private func release() {
        let release = held.withLock { held in
            defer { (held.isAsked, held.release) = (false, nil) }
            return held.release
        }
        release?()
    }
}
