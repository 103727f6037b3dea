/// Changes of attributes that functions of the application merge (``ValueVersions``).
extension PendingChange {
  /// Returns the change with versions in place of the values of such attributes.
  ///
  /// The state says too which attributes these are: a device whose model does not declare the rule retains what it does not show.
  ///
  /// - Parameters:
  ///   - former: The values that the object had before the save, as far as they are known; empty if the save has inserted it.
  ///   - state: The state of the record when the object was changed, including earlier pending saves.
  ///   - settled: The same without these.
  ///   - stamp: The stamp that the save got first. It must not change when the save is stamped again, for whatever reason.
  package func versioned(
    _ model: SyncModel, replacing former: [PropertyID: FieldValue], in state: Record?, settled: Record?, first stamp: Stamp
  ) -> PendingChange {
    guard let values, !isLink else { return self }
    let declared = model.merging(of: entity)
    var (rest, rules, own) = (values, rules, ownFields)
    for (property, value) in values where value.isPlain && (declared[property] == .custom || state?[property]?.rule == .custom) {
      let known = ValueVersions(of: state?[property])
      rules[property] = .custom
      // Nothing has written the attribute.
      if value == .null, known.fieldValue == .null, former[property] == nil { continue }
      let new = known.setting(
        value, stamp, replacing: former[property], settled: ValueVersions(of: settled?[property]),
        model.function(for: property, of: entity))
      own.append(Field(property, new.fieldValue, stamp, .custom))
      rest[property] = nil
    }
    return PendingChange(id, entity: entity, rest, rules: rules, ownFields: own.sorted { $0.property < $1.property })
  }
}
