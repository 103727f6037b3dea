import Foundation
import ObjectContext
import ObjectModel
import ObjectQuery
import ObjectStore
import _TestSupport

/// Random saves, batch requests and deletions on the model of ``DerivedFilterSpecification``.
struct FilteredGraph {
  private let context: ManagedObjectContext
  private var random: SeededGenerator

  init(seed: UInt64, context: ManagedObjectContext) {
    self.context = context
    random = SeededGenerator(seed: seed)
  }

  private mutating func some(_ entity: String) throws -> ManagedObject? { try context.all(entity).randomElement(using: &random) }
  private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }
  private mutating func state() -> String? { ["open", "paid", "late", nil].randomElement(using: &random) ?? nil }
  private mutating func flag() -> Bool? { [true, false, nil].randomElement(using: &random) ?? nil }
  private mutating func note() -> String? { ["Urgent", "Café", "plain", nil].randomElement(using: &random) ?? nil }

  private mutating func values(of entity: String) throws -> [String: Any?] {
    switch entity {
    case "Account", "Tag": return ["name": "x"]
    case "Clerk": return ["pay": chance(5) ? nil : Int64.random(in: 0...90, using: &random)]
    case "Pile": return [:]
    default:
      return [
        "state": state(), "isPaid": flag(), "note": note(),
        "amount": chance(5) ? nil : Decimal(Int.random(in: 1...9_999, using: &random)) / 100,
        "weight": chance(5) ? nil : Int32.random(in: -5...140, using: &random),
        "due": Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0...999, using: &random))),
        "place": chance(3) ? nil : ["city": chance(2) ? "Ulm" : "Bonn"], "account": chance(6) ? nil : try some("Account"),
        "clerk": chance(3) ? nil : try some("Clerk"),
      ]
    }
  }

  private static let entities = ["Account", "Invoice", "CreditNote", "Invoice", "Clerk", "Tag", "Pile", "Invoice"]

  /// Runs one save or batch request.
  mutating func change() throws {
    if chance(3) { return try batch() }
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let entity = Self.entities.randomElement(using: &random) ?? "Invoice"
      switch Int.random(in: 0..<7, using: &random) {
      case 0...2: try context.insert(entity, try values(of: entity))
      case 3...4:
        guard let object = try some(chance(2) ? "Invoice" : entity) else { continue }
        for (key, value) in try values(of: object.objectID.entityName) where chance(3) { try object.setValue(value, forKey: key) }
      case 5: if let object = try some(entity), !chance(3) { context.delete(object) }
      default:
        if let pile = try some("Pile") { try pile.setValue(Set(try context.all("Invoice").filter { _ in chance(2) }), forKey: "items") }
        if let tag = try some("Tag") { try tag.setValue(try context.all("Invoice").filter { _ in chance(2) }, forKey: "invoices") }
      }
    }
    try context.save()
  }

  private mutating func batch() throws {
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      let account = try some("Account")?.objectID
      let rows: [[String: any Sendable]] = (0..<4).map { number in
        var row: [String: any Sendable] = ["state": "late", "isPaid": number % 2 == 0, "amount": Decimal(number), "weight": number * 30]
        if let account { row["account"] = account }
        return row
      }
      try context.execute(BatchInsertRequest(entityName: chance(2) ? "Invoice" : "CreditNote", objects: rows))
    case 1:
      try context.execute(
        BatchUpdateRequest(
          entityName: "Invoice", predicate: try FetchPredicate(format: "weight < 60"),
          propertiesToUpdate: ["isPaid": chance(2), "state": state() ?? "odd", "note": note() ?? "é"]))
    case 2:
      guard let account = try some("Account") else { return }
      try context.execute(
        BatchUpdateRequest(
          entityName: "Invoice", predicate: try FetchPredicate(format: "state == 'open'"), propertiesToUpdate: ["account": account.objectID]
        ))
    case 3: try context.execute(BatchUpdateRequest(entityName: "Clerk", propertiesToUpdate: ["pay": FetchExpression(format: "pay + 1")]))
    case 4: try context.execute(BatchDeleteRequest(entityName: "Invoice", predicate: try FetchPredicate(format: "weight > 120")))
    default: if let clerk = try some("Clerk") { try context.execute(BatchDeleteRequest(objectIDs: [clerk.objectID])) }
    }
    context.refreshAllObjects()
  }

  /// The expected derived attributes of an object, from its relationships and the conditions in Swift.
  static func expected(_ object: ManagedObject) -> [String: Slot] {
    func number(_ member: ManagedObject, _ key: String) -> Decimal { member[key] as? Decimal ?? 0 }
    func sum(_ members: some Sequence<ManagedObject>) -> Slot {
      .bytes(DecimalCoding.encode(members.reduce(0) { $0 + number($1, "amount") }))
    }
    func count(_ members: some Sequence<ManagedObject>, _ test: (ManagedObject) -> Bool) -> Slot {
      .int(Int64(members.reduce(0) { $0 + (test($1) ? 1 : 0) }))
    }
    func weight(_ member: ManagedObject) -> Int32? { member["weight"] as? Int32 }
    func isOpen(_ member: ManagedObject) -> Bool { member["isPaid"] as? Bool == false }
    switch object.objectID.entityName {
    case "Account":
      let invoices = object.members("invoices")
      let listed = invoices.filter { ["open", "late"].contains($0.text("state")) && weight($0).map { (10...100).contains($0) } == true }
      let weights = invoices.compactMap(weight).filter { $0 > 0 }.map(Double.init)
      return [
        "openCount": count(invoices, isOpen), "openTotal": sum(invoices.filter { $0.text("state") != "paid" }),
        "lastDue": listed.compactMap { ($0["due"] as? Date)?.timeIntervalSinceReferenceDate }.max().map { .real($0) } ?? .null,
        "meanWeight": weights.isEmpty ? .null : .real(weights.reduce(0, +) / Double(weights.count)),
        "nobodys": count(invoices) { $0.object("clerk") == nil },
        "urgent": count(invoices) { ["Urgent", "Café", "é"].contains($0.text("note")) },
        "inUlm": count(invoices) { ($0["place"] as? [String: Any])?["city"] as? String == "Ulm" },
        "latePay": .int(invoices.filter { $0.text("state") == "late" }.compactMap { $0.object("clerk")?.integer("pay") }.reduce(0, +)),
      ]
    case "Invoice", "CreditNote": return ["openBeside": count(object.object("account")?.members("invoices") ?? [], isOpen)]
    case "Tag": return ["paidSum": sum(object.list("invoices").filter { $0["isPaid"] as? Bool == true })]
    case "Pile": return ["lateCount": count(object.members("items")) { $0.text("state") == "late" }]
    default: return [:]
    }
  }
}
