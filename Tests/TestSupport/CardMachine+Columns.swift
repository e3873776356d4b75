package import LiveActivityCore

extension CardMachine {
    /// The machine as flat columns. Setting a column makes the machine that the columns describe; values that its state
    /// does not have are lost.
    package var columns: CardColumns {
        get { CardColumns(self) }
        set { self = CardMachine(newValue) }
    }
}
