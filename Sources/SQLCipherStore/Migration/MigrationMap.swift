import ObjectModel
import ObjectStore

/// Maps entities and properties of a newer model to those of the older model and its tables. It does not read the file.
struct MigrationMap {
  let source: StoreSchema
  let destination: CompiledModel
  let difference: ModelDifference
  /// The numbers of the newer entities in the store. It contains only whole inheritance trees.
  let storedEntities: Set<Int>
  private let destinations: [Int?]

  init(source: StoreSchema, destination: CompiledModel, entityNumbers: [Int]) {
    self.source = source
    self.destination = destination
    difference = ModelDifference(from: source.model, to: destination)
    let roots = Set(entityNumbers.map { destination.entities[$0].root })
    storedEntities = Set(destination.entities.lazy.filter { roots.contains($0.root) }.map(\.number))
    var destinations = [Int?](repeating: nil, count: source.model.entities.count)
    for (number, older) in difference.sources.enumerated() { if let older { destinations[older] = number } }
    self.destinations = destinations
  }

  // MARK: Entities

  /// Returns the older version of an entity, if the store contains it.
  func older(_ entity: CompiledEntity) -> CompiledEntity? {
    guard storedEntities.contains(entity.number), let number = difference.sources[entity.number], source.tableIfStored(number) != nil else {
      return nil
    }
    return source.model.entities[number]
  }

  /// Returns the newer version of an entity, if the store continues to contain it.
  func newer(_ entity: CompiledEntity) -> CompiledEntity? {
    guard let number = destinations[entity.number], storedEntities.contains(number) else { return nil }
    return destination.entities[number]
  }

  /// Returns whether the newer model has an entity, in this store or another one.
  func isInModel(_ older: CompiledEntity) -> Bool { destinations[older.number] != nil }

  // MARK: Properties

  /// Returns the older slot whose values a slot takes over, or `nil` if there is none or its values cannot be converted to the new type.
  func olderSlot(of slot: CompiledSlot, in entity: CompiledEntity) -> CompiledSlot? {
    guard let older = older(entity), let name = difference.sourceName(ofProperty: slot.name, in: entity.number) else { return nil }
    switch older.property(named: name) {
    case .attribute(let known):
      guard let before = known.attribute, let after = slot.attribute, known.kind != .none, slot.kind != .none else { return nil }
      // Derived values are computed again.
      guard before.type == after.type || after.derivationExpression == nil else { return nil }
      return before.type.change(to: after.type) == nil ? nil : known
    case .toOne(let relationship):
      guard slot.relationship != nil, !slot.isTransient, !relationship.isTransient else { return nil }
      return older.slots[relationship.index]
    default: return nil
    }
  }

  /// Returns the older versions of a relationship, to-one or to-many, in all entities that have it.
  func olderRelationships(of relationship: CompiledRelationship) -> [CompiledRelationship] {
    guard !relationship.isTransient else { return [] }
    var result: [CompiledRelationship] = []
    for number in destination.entities[relationship.sourceEntity].subtree {
      let entity = destination.entities[number]
      guard let older = older(entity), let name = difference.sourceName(ofProperty: relationship.name, in: number) else { continue }
      let known: CompiledRelationship
      switch older.property(named: name) {
      case .toOne(let found), .toMany(let found): known = found
      default: continue
      }
      if !known.isTransient, !result.contains(where: { $0.id == known.id }) { result.append(known) }
    }
    return result
  }

  // MARK: Numbers of entities

  /// Returns how the older entities of references map to newer ones.
  ///
  /// - Parameters:
  ///   - numbering: How a reference's older entity is determined.
  ///   - entity: The older entity of the references, including its subentities.
  ///   - target: The newer entity that the references must have, including its subentities.
  func numbers(_ numbering: OlderNumbering, of entity: CompiledEntity, within target: CompiledEntity) -> NumberMap {
    var pairs: [(older: Int, newer: Int)] = []
    var isComplete = true
    let candidates: Range<Int> = if case .fixed(let number) = numbering { number..<(number + 1) } else { entity.subtree }
    for number in candidates {
      let older = source.model.entities[number]
      if let newer = newer(older), newer.isKind(of: target) {
        pairs.append((older.number - older.root + 1, newer.number - newer.root + 1))
      } else if !older.isAbstract {
        isComplete = false
      }
    }
    return NumberMap(numbering: numbering, pairs: pairs, isComplete: isComplete)
  }
}

/// How the older entity of a reference is determined.
enum OlderNumbering {
  /// The only possible entity, by its number in the model.
  case fixed(Int)
  /// An SQL expression for the entity's number in its tree.
  case stored(String)
}

/// A mapping from older entity numbers to newer ones, in their trees.
struct NumberMap {
  let numbering: OlderNumbering
  /// The pairs, ordered by older number.
  let pairs: [(older: Int, newer: Int)]
  /// Whether all possible destinations continue to exist.
  let isComplete: Bool

  /// Whether no possible destination continues to exist.
  var isEmpty: Bool { pairs.isEmpty }

  /// Whether no number changes.
  var isIdentity: Bool { isComplete && pairs.allSatisfy { $0.older == $0.newer } }

  /// The condition that a number changes, or `nil` if none does.
  var isChanged: String? {
    let changed = pairs.filter { $0.older != $0.newer }.map(\.older)
    guard case .stored(let expression) = numbering, !changed.isEmpty else { return nil }
    return Self.membership(expression, changed)
  }

  /// The condition that the destination continues to exist, or `nil` if it always does.
  var isLive: String? {
    guard !isComplete else { return nil }
    switch numbering {
    case .fixed: return pairs.isEmpty ? "0" : nil
    case .stored(let expression): return Self.membership(expression, pairs.map(\.older))
    }
  }

  /// An expression for the newer number; NULL for destinations that no longer exist.
  var value: String {
    switch numbering {
    case .fixed: return pairs.first.map { String($0.newer) } ?? "NULL"
    case .stored(let expression):
      if pairs.isEmpty { return "NULL" }
      if isIdentity { return expression }
      var runs: [(first: Int, last: Int, shift: Int)] = []
      for pair in pairs {
        if let run = runs.last, run.last + 1 == pair.older, run.shift == pair.newer - pair.older {
          runs[runs.count - 1].last = pair.older
        } else {
          runs.append((pair.older, pair.older, pair.newer - pair.older))
        }
      }
      let cases = runs.map { run in
        let condition = Self.membership(expression, Array(run.first...run.last))
        let result = run.first == run.last ? String(run.first + run.shift) : run.shift == 0 ? expression : "\(expression) + (\(run.shift))"
        return "WHEN \(condition) THEN \(result)"
      }
      return "CASE \(cases.joined(separator: " ")) END"
    }
  }

  /// Returns the condition that an expression equals one of the ascending numbers. A contiguous range is written as BETWEEN.
  static func membership(_ expression: String, _ numbers: [Int]) -> String {
    guard let first = numbers.first, let last = numbers.last else { return "0" }
    if numbers.count == 1 { return "\(expression) = \(first)" }
    if last - first + 1 == numbers.count { return "\(expression) BETWEEN \(first) AND \(last)" }
    return "\(expression) IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }
}
