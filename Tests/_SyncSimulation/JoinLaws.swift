package import SyncCore

/// Checks the laws of joins with random triples of records: a join does not depend on the order, the grouping or the repetition of its
/// operands, and the record can be encoded. Applying a change repeatedly changes nothing.
package enum JoinLaws {
  package static let rules: [MergeRule?] = [.latest, .firstWriter, .max, .min, .union, .counter, .custom]

  /// Returns a triple that violates the laws, or nil.
  ///
  /// - Parameter rule: The rule of the fields; nil for different ones.
  package static func violation(of rule: MergeRule?, seed: UInt64, count: Int) -> String? {
    var random = SimulationRandom(seed)
    for number in 0..<count {
      let (a, b, c) = (record(rule, &random), record(rule, &random), record(rule, &random))
      let all = a.joined(with: b).joined(with: c)
      let changed = a.applying(b)
      guard a.joined(with: b) == b.joined(with: a), all == a.joined(with: b.joined(with: c)), all.joined(with: b) == all,
        a.joined(with: a) == a, changed.applying(b) == changed, rule == nil || changed == a.joined(with: b),
        number % 16 > 0 || (try? RecordCoding.decode(RecordCoding.encode(all, of: RecordID(high: 1, low: 2))).record) == all
      else { return "\(a)\n\(b)\n\(c)" }
    }
    return nil
  }

  private static func record(_ rule: MergeRule?, _ random: inout SimulationRandom) -> Record {
    if random.chance(0.03) { return Record(entity: EntityID(1), .deleted(stamp(&random))) }
    let fields = (0..<2).compactMap { number -> Field? in
      if random.chance(0.2) { return nil }
      let rule = rule ?? rules[random.number(below: rules.count)] ?? .latest
      let value =
        rule == .counter ? counter(&random).fieldValue : rule == .custom ? versions(&random).fieldValue : value(&random)
      return Field(PropertyID(UInt64(number)), value, stamp(&random), rule)
    }
    if random.chance(0.7) { return Record(entity: EntityID(1), .live(fields)) }
    let entries = (0..<random.number(below: 4)).map { _ in
      let property = random.element(of: [PropertyID(0), PropertyID(1), .deletion, .revival]) ?? .deletion
      return DeletionMark.Entry(property, stamp(&random), isFixed: random.chance(0.2))
    }
    let mark = Field(.deletion, .deletion(DeletionMark(entries)), stamp(&random), .deletion)
    return Record(entity: EntityID(1), .live(fields + [mark]))
  }

  private static func stamp(_ random: inout SimulationRandom) -> Stamp {
    Stamp(HybridTime(value: UInt64(random.number(below: 4))), DeviceID(UInt64(1 + random.number(below: 2))))
  }

  private static func counter(_ random: inout SimulationRandom) -> Counter {
    var entries: [Counter.Entry] = []
    for device in 0..<UInt64(3) {
      let through = random.chance(0.4) ? random.number(below: 4) : nil
      if let through { entries.append(Counter.Entry(DeviceID(device), HybridTime(value: UInt64(through)), isTotal: true, amount(&random))) }
      for time in 0..<4 where time > through ?? -1 && random.chance(0.3) {
        entries.append(Counter.Entry(DeviceID(device), HybridTime(value: UInt64(time)), amount(&random)))
      }
    }
    return Counter(validating: entries) ?? Counter(.null)
  }

  private static func versions(_ random: inout SimulationRandom) -> ValueVersions {
    var seen: [ValueVersions.Seen.Entry] = []
    var versions: [ValueVersions.Version] = []
    for device in 0..<UInt64(3) where random.chance(0.7) {
      let last = random.number(below: 4)
      seen.append(ValueVersions.Seen.Entry(DeviceID(device), HybridTime(value: UInt64(last))))
      for time in 0...UInt64(last) where random.chance(0.3) {
        let values = [FieldValue.null, .integer(1), .integer(2)]
        let (value, base) = (random.element(of: values) ?? .null, random.element(of: values) ?? .null)
        let stamp = Stamp(HybridTime(value: time), DeviceID(device))
        versions.append(ValueVersions.Version(stamp, value, base: base, baseSeen: ValueVersions.Seen(validating: seen) ?? .init()))
      }
    }
    versions.sort { $0.stamp < $1.stamp }
    return ValueVersions(validating: versions, seen: ValueVersions.Seen(validating: seen) ?? .init()) ?? ValueVersions(.null)
  }

  private static func amount(_ random: inout SimulationRandom) -> FieldValue {
    random.chance(0.2) ? .real((Double(random.number(below: 3)) * 0.1).bitPattern) : .integer(Int64(random.number(below: 3)))
  }

  private static func value(_ random: inout SimulationRandom) -> FieldValue {
    switch random.number(below: 10) {
    case 0: .null
    case 1...4: .integer(Int64(random.number(below: 5)) - 2)
    case 5...7: .real((random.element(of: [0, -0.0, .nan, -.nan, 1.5, -1.5, .infinity]) ?? 0).bitPattern)
    case 8: .text(random.element(of: ["", "a", "b"]) ?? "")
    default: random.chance(0.5) ? .bytes([UInt8(random.number(below: 2))]) : .superseded
    }
  }
}
