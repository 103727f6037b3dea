import SyncCore

/// The invariants of attributes with rules: each save that was not lost has its part in the merged value.
extension SimulationChecks {
  /// Checks that a save adds to each counter what leads from the former value to the new one.
  ///
  /// - Parameter saved: The changes with the values that the application has set.
  func checkDifferences(_ save: PendingSave, _ saved: [PendingChange], _ former: [RecordID: SyncedObject]) throws {
    func number(_ value: FieldValue?) -> Double {
      switch value {
      case .integer(let integer)?: Double(integer)
      case .real(let bits)?: Double(bitPattern: bits)
      default: 0
      }
    }
    for (change, saved) in zip(save.changes, saved) {
      for field in change.ownFields where field.rule == .counter {
        let (old, new) = (number(former[change.id]?.values[field.property]), number(saved.values?[field.property]))
        // Integers that overflow are compared elsewhere.
        if abs(old) > 1e15 || abs(new) > 1e15 { continue }
        if number(Counter(field.value).entries.first?.amount) != new - old {
          throw SimulationFailure(invariant: "saves add differences", detail: "\(change.id.low): \(field), from \(old) to \(new)")
        }
      }
    }
  }

  /// Checks that no total of a device covers a time that it can use again: those after all that it has pulled.
  func checkTotals(_ device: SimulatedDevice, _ simulation: Simulation) throws {
    if !simulation.setup.hasRules || !isComparable { return }
    let zone = device.store.state.zone
    for (id, entry) in device.store.state.entries {
      for field in entry.base?.record.fields ?? [] where field.rule == .counter {
        for total in Counter(field.value).entries where total.isTotal && total.device == zone.device && total.time > zone.clock.seen {
          throw SimulationFailure(
            invariant: "totals cover no later save", detail: "device \(device.number): \(id.low), \(total) after \(zone.clock)")
        }
      }
    }
  }

  /// Returns whether a state contains what a change has added to counters and versions.
  func includesCounters(_ change: PendingChange, _ state: Record) -> Bool {
    change.ownFields.allSatisfy { own in
      if own.property == .revival { return true }
      guard let field = state[own.property], field.rule == own.rule else { return false }
      if own.rule == .custom { return ValueVersions(own.value).seen.isSubset(of: ValueVersions(field.value).seen) }
      return Counter(own.value).entries.allSatisfy { Counter(field.value).contains($0.time, of: $0.device) }
    }
  }

  /// Returns the saves whose dots a counter has, or whose versions a field has.
  func savesOfDots(_ field: Field, _ id: RecordID) -> [Save] {
    if !field.rule.hasFixedStamps { return [] }
    let dots = Counter(field.value).entries.filter { !$0.isTotal }.map { Stamp($0.time, $0.device) }
    return (dots + ValueVersions(field.value).versions.map(\.stamp)).compactMap { stamp in
      let saves = self.byStamp[stamp] ?? []
      // A store that was replaced can have used a stamp twice, and a save whose objects got other records counts as two.
      return saves.count == 1 ? saves.first { $0.changes.contains { $0.id == id } } : nil
    }
  }

  /// Returns whether the value that a save has written to an attribute with a rule has its part in a state.
  func includes(_ value: FieldValue, _ property: PropertyID, of written: PendingChange, in save: Save, _ field: Field) -> Bool {
    let rule = written.rules[property] ?? .latest
    if field.rule < rule { return false }
    if rule == field.rule { return Self.merges(value, save, field) }
    if rule == .latest, field.rule == .custom, value != .null {
      return includesFormer(property, of: written, in: save, ValueVersions(field.value))
    }
    // Another version of the model has written it. If that happened before the state got the rule, another such value can have replaced it.
    if field.rule.hasFixedStamps || Self.merges(value, save, field) { return true }
    if let object = baseline[written.id], object.values[property] != nil {
      let former = baselineModels[written.id]?.merging(of: object.entity)[property] ?? .latest
      if former < field.rule, rule != .latest || former != .latest { return true }
    }
    return saves.contains { other in
      if other === save { return false }
      let isLater = (other.stamps.max() ?? other.lowestStamp) > save.lowestStamp
      return other.changes.contains { change in
        let otherRule = change.rules[property] ?? .latest
        // A rule of either version may have retained an earlier one.
        return change.id == written.id && change.values?[property] != nil && otherRule < field.rule
          && (isLater || rule != .latest || otherRule != .latest)
      }
    }
  }

  private static func merges(_ value: FieldValue, _ save: Save, _ field: Field) -> Bool {
    if value == .null { return true }
    switch field.rule {
    case .latest, .counter, .custom, .deletion: return true
    case .firstWriter: return field.value == value || field.value != .null && field.stamp <= save.stamps.max() ?? field.stamp
    case .max: return extreme([value, field.value], isMaximum: true) == field.value
    case .min: return extreme([value, field.value], isMaximum: false) == field.value
    case .union:
      guard case .integer(let bits) = value else { return true }
      if case .integer(let all) = field.value { return all & bits == bits }
      return false
    }
  }

  /// Returns the greatest or the smallest value. What is not a number loses.
  private static func extreme(_ values: [FieldValue], isMaximum: Bool) -> FieldValue {
    func isNumber(_ value: FieldValue) -> Bool { if case .real(let bits) = value { !Double(bitPattern: bits).isNaN } else { true } }
    let known = values.filter { $0 != .null }
    let numbers = known.filter(isNumber)
    if numbers.isEmpty { return known.first ?? .null }
    func isLess(_ one: FieldValue, _ other: FieldValue) -> Bool {
      if case .real(let one) = one, case .real(let other) = other { return Double(bitPattern: one) < Double(bitPattern: other) }
      return one < other
    }
    return (isMaximum ? numbers.max(by: isLess) : numbers.min(by: isLess)) ?? .null
  }

  /// What is known of an attribute of a record from all saves.
  private struct History {
    var values: [(value: FieldValue, earliest: Stamp, latest: Stamp)] = []
    var dots: [Stamp: FieldValue] = [:]
    var baseline: FieldValue?
    /// What other versions of the model have set a counter to, by the first stamps of the saves.
    var absolutes: [Stamp: FieldValue] = [:]
    /// Whether another version of the model has written it, or it is not known which values it has.
    var isUncertain = false
  }

  /// Checks that each attribute with a rule has the value that follows from all saves.
  func checkRules(_ simulation: Simulation, _ view: StateView) throws {
    if !simulation.setup.hasRules { return }
    for (id, properties) in histories(simulation.model) {
      // A returned object has the state of a device that was away.
      guard let state = view.state(of: id), !state.isDeleted, !hasReturned(id) else { continue }
      for (property, history) in properties where !history.isUncertain {
        let rule = simulation.model.entity(state.entity).rules[property] ?? .latest
        guard let field = state[property] else { continue }
        // Nothing was counted since the model declares it.
        if rule == .counter, history.dots.isEmpty { continue }
        if field.rule != rule {
          throw SimulationFailure(invariant: "fields keep their rules", detail: "\(id.low): \(field), expected \(rule)")
        }
        let value = rule == .counter ? Counter(field.value).sum : field.value
        if !Self.isExpected(value, rule, history) {
          throw SimulationFailure(invariant: "merged values follow from all saves", detail: "\(id.low): \(field), of \(history)")
        }
      }
    }
  }

  private func histories(_ model: SimulatedModel) -> [RecordID: [PropertyID: History]] {
    var result: [RecordID: [PropertyID: History]] = [:]
    for (id, object) in baseline where !object.isLink {
      for (property, rule) in model.entity(object.entity).rules where rule != .custom {
        var history = History()
        history.baseline = object.values[property]
        history.isUncertain = rule != .counter && baselineModels[id]?.merging(of: object.entity)[property] != rule
        result[id, default: [:]][property] = history
      }
    }
    for save in saves {
      for change in save.changes {
        guard let values = change.values, !change.isLink else { continue }
        for (property, rule) in model.entity(change.entity).rules where rule != .custom {
          var history = result[change.id]?[property] ?? History()
          if let value = values[property] {
            if rule == .counter {
              // The value of an insertion is what was there before. Others are not added up.
              if !save.isLost || save.isAccepted { history.absolutes[save.stamps[0]] = value }
              let isInsertion = values[model.entity(change.entity).serial] != nil && !change.isReinsertion
              if !isInsertion || history.absolutes.count > 1 || history.baseline != nil { history.isUncertain = true }
            } else if change.rules[property] != rule {
              history.isUncertain = true
            }
            if !save.isLost || save.isAccepted {
              history.values.append((value, save.lowestStamp, save.stamps.max() ?? save.lowestStamp))
            }
          }
          for field in change.ownFields where field.property == property {
            for dot in Counter(field.value).entries { add(dot, of: save, to: &history) }
          }
          result[change.id, default: [:]][property] = history
        }
      }
    }
    return result
  }

  private func add(_ dot: Counter.Entry, of save: Save, to history: inout History) {
    let stamp = Stamp(dot.time, dot.device)
    // The only limit: a store was replaced without noticing it, its clock was set back, and a total of the lost state covers the dot.
    let isCovered = saves.contains { $0.isReplaced && $0 !== save && $0.stamps[0].device == dot.device && $0.stamps[0].time >= dot.time }
    if isCovered, !save.isReplaced { history.isUncertain = true }
    if save.isLost, !save.isAccepted { return }
    if let other = history.dots.updateValue(dot.amount, forKey: stamp), other != dot.amount { history.isUncertain = true }
  }

  private static func isExpected(_ value: FieldValue, _ rule: MergeRule, _ history: History) -> Bool {
    let values = ([history.baseline].compactMap { $0 } + history.values.map(\.value)).filter { $0 != .null }
    switch rule {
    case .latest, .custom, .deletion: return true
    case .max: return value == extreme(values, isMaximum: true)
    case .min: return value == extreme(values, isMaximum: false)
    case .union:
      var bits: Int64?
      for case .integer(let integer) in values { bits = (bits ?? 0) | integer }
      return value == bits.map(FieldValue.integer) ?? .null
    case .firstWriter:
      if let baseline = history.baseline, baseline != .null { return value == baseline }
      let known = history.values.filter { $0.value != .null }
      guard let last = known.map(\.latest).min() else { return value == .null }
      return known.contains { $0.value == value && $0.earliest <= last }
    case .counter:
      let former = [history.baseline].compactMap { $0 } + history.absolutes.values
      let amounts = former.filter { $0 != .null } + history.dots.values
      return value == amounts.reduce(.null) { $0 == .null ? $1 : Counter.sum($0, $1) }
    }
  }
}
