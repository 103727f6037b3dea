import ObjectModel
import ObjectStore

/// What was what before. Pure: nothing is read from the file.
struct MigrationMap {
  /// The older model with its tables.
  let source: StoreSchema
  /// The newer model.
  let destination: CompiledModel
  /// What changed, in words.
  let difference: ModelDifference
  /// The numbers of the newer entities that the store is to hold; trees are held as a whole.
  let held: Set<Int>
  /// The newer entity of each older one.
  private let destinations: [Int?]

  init(source: StoreSchema, destination: CompiledModel, entityNumbers: [Int]) {
    self.source = source
    self.destination = destination
    difference = ModelDifference(from: source.model, to: destination)
    let roots = Set(entityNumbers.map { destination.entities[$0].root })
    held = Set(destination.entities.lazy.filter { roots.contains($0.root) }.map(\.number))
    var destinations = [Int?](repeating: nil, count: source.model.entities.count)
    for (number, older) in difference.sources.enumerated() { if let older { destinations[older] = number } }
    self.destinations = destinations
  }

  // MARK: Entities

  /// What an entity was before, if the store held it.
  func older(_ entity: CompiledEntity) -> CompiledEntity? {
    guard held.contains(entity.number), let number = difference.sources[entity.number], source.tableIfHeld(number) != nil else {
      return nil
    }
    return source.model.entities[number]
  }

  /// What becomes of an entity, if the store holds it further on.
  func newer(_ entity: CompiledEntity) -> CompiledEntity? {
    guard let number = destinations[entity.number], held.contains(number) else { return nil }
    return destination.entities[number]
  }

  /// Whether the newer model has an entity, be it in this store or not.
  func isInModel(_ older: CompiledEntity) -> Bool { destinations[older.number] != nil }

  // MARK: Properties

  /// The older slot whose values an entity's slot takes over; nil where there was none, or only one whose values do not become values of this one's type.
  func olderSlot(of slot: CompiledSlot, in entity: CompiledEntity) -> CompiledSlot? {
    guard let older = older(entity), let name = difference.sourceName(ofProperty: slot.name, in: entity.number) else { return nil }
    switch older.property(named: name) {
    case .attribute(let known):
      guard let before = known.attribute, let after = slot.attribute, known.kind != .none, slot.kind != .none else { return nil }
      // What is derived is computed again.
      guard before.type == after.type || after.derivationExpression == nil else { return nil }
      return before.type.change(to: after.type) == nil ? nil : known
    case .toOne(let relationship):
      guard slot.relationship != nil, !slot.isTransient, !relationship.isTransient else { return nil }
      return older.slots[relationship.index]
    default: return nil
    }
  }

  /// The older relationships, to-one or to-many, that a relationship was in the entities that have it.
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

  /// How the older entities of some references become newer ones.
  ///
  /// - Parameters:
  ///   - numbering: How a reference's older entity is known.
  ///   - entity: The older entity that the reference may be of, or below.
  ///   - target: The newer entity that the reference has to be of, or below.
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

/// How the older entity of a reference is known.
enum OlderNumbering {
  /// It can be one only: its number in the model.
  case fixed(Int)
  /// An SQL expression has its number in its tree.
  case stored(String)
}

/// The newer numbers of older entities within their trees.
struct NumberMap {
  let numbering: OlderNumbering
  /// Ascending.
  let pairs: [(older: Int, newer: Int)]
  /// Whether every object that can be referred to lives on.
  let isComplete: Bool

  /// Whether nothing that can be referred to lives on.
  var isEmpty: Bool { pairs.isEmpty }

  /// Whether all numbers stay as they are.
  var isIdentity: Bool { isComplete && pairs.allSatisfy { $0.older == $0.newer } }

  /// The condition that a number changes; nil where none does.
  var isChanged: String? {
    let changed = pairs.filter { $0.older != $0.newer }.map(\.older)
    guard case .stored(let expression) = numbering, !changed.isEmpty else { return nil }
    return Self.membership(expression, changed)
  }

  /// The condition that what is referred to lives on; nil where it always does.
  var isLive: String? {
    guard !isComplete else { return nil }
    switch numbering {
    case .fixed: return pairs.isEmpty ? "0" : nil
    case .stored(let expression): return Self.membership(expression, pairs.map(\.older))
    }
  }

  /// The newer number; NULL for what does not live on.
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

  /// The condition that an expression is one of some numbers; runs of numbers are written as ranges.
  static func membership(_ expression: String, _ numbers: [Int]) -> String {
    guard let first = numbers.first, let last = numbers.last else { return "0" }
    if numbers.count == 1 { return "\(expression) = \(first)" }
    if last - first + 1 == numbers.count { return "\(expression) BETWEEN \(first) AND \(last)" }
    return "\(expression) IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }
}
