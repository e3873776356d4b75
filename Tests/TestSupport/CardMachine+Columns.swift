package import LiveActivityCore

extension CardMachine {
    /// The machine laid out flat. Setting a column makes the machine that the columns say: what its life does not have
    /// is lost.
    package var columns: CardColumns {
        get { CardColumns(self) }
        set { self = CardMachine(newValue) }
    }
}
