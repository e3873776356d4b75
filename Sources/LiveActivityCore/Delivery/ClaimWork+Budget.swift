import APNSModel

extension ClaimWork {
    /// Charges a push to the device's budget before it leaves.
    ///
    /// The charge is never refunded, so a crash makes the estimate too high but never too low.
    func spend(
        _ plan: PushPlan, _ phone: PhoneSituation, _ desired: DesiredSituation, _ draft: inout Draft
    ) {
        let budgets = desired.type.policy.budgets
        let device = phone.device
        let (limit, record): (BudgetLimit, BudgetRecord)
        if plan.kind == .start {
            limit = budgets.start
            record = limit.spent(phone.startBudget, .init(device.key, .start), now: now)
        } else if plan.priority == .high {
            limit = budgets.high(device)
            record = limit.spent(phone.highBudget, .init(device.key, .high), now: now)
        } else {
            return
        }
        draft.put(record)
        draft.observe(.budgetLeft(desired.activity.app, record.kind), limit.shareLeft(record))
    }
}
