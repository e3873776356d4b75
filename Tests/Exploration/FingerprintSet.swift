/// A set of fingerprints in one block of memory. Each takes eight bytes, and at least a third of the slots is free.
struct FingerprintSet: Sendable {
    private var slots: [UInt64]
    private(set) var count = 0
    /// `true` if zero is in the set. Zero marks a free slot, so it is stored separately.
    private var hasZero = false

    init() { slots = Array(repeating: 0, count: 1 << 16) }

    func contains(_ value: UInt64) -> Bool {
        guard value != 0 else { return hasZero }
        return slots[slot(of: value)] == value
    }

    /// - Returns: `true` if the value is new.
    mutating func insert(_ value: UInt64) -> Bool {
        guard value != 0 else {
            defer { hasZero = true }
            return !hasZero
        }
        if count * 3 > slots.count * 2 { grow() }
        let slot = slot(of: value)
        guard slots[slot] != value else { return false }
        slots[slot] = value
        count += 1
        return true
    }

    /// Returns the slot of the value, or the slot it would get.
    private func slot(of value: UInt64) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: value) & mask
        while slots[slot] != 0, slots[slot] != value { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: 0, count: old.count * 2)
        for value in old where value != 0 { slots[slot(of: value)] = value }
    }
}
