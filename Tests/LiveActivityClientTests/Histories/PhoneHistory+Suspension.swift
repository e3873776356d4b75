import LiveActivityRegistration
import TestSupport

@testable import APNSSimulator

/// Suspension: iOS withdraws the time that it gave the app in the background. The process stands still, with a call
/// under way or before it was made, until something wakes it.
extension PhoneHistory {
    /// Everything that a suspended process has not heard.
    struct Suspension {
        var unheard: (number: Int, answer: PhoneAnswer?, process: Int)?
    }

    mutating func suspend(_ index: Int) {
        let phone = owners[index].phone
        guard phone.profile.appState == .background, phone.client?.isSettled == false else { return }
        note("\(phone.id) is suspended")
        count(.suspended)
        owners[index].suspension = Suspension()
    }

    /// Resumes the process. Its connection is usually gone by now, and the answer with it.
    mutating func resume(_ index: Int) {
        guard let suspension = owners[index].suspension else { return }
        owners[index].suspension = nil
        note("\(owners[index].phone.id) goes on")
        if let unheard = suspension.unheard, unheard.process == owners[index].phone.processes,
            owners[index].phone.client != nil
        {
            let answer = dice.chance(30) ? unheard.answer : nil
            follow(owners[index].phone.answer(unheard.number, answer, at: now), of: index)
        }
        // Timers that came due meanwhile fire before the event that wakes the process.
        follow(owners[index].phone.elapse(to: now), of: index)
    }
}
