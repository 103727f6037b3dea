import ObjectModel
package import ObjectQuery
import _TestSupport

/// Generates requests whose results depend on related objects, across one or more to-one and to-many relationships.
package struct UndoGraphQueries {
  private var random: SeededGenerator
  private let model = UndoGraph.model

  /// Creates a generator.
  package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// Returns the next request, with a total order and without a limit.
  package mutating func next() throws -> FetchSpecification {
    let entity = pick(["Owner", "Item", "Tag", "Note"])
    var request = FetchSpecification(entityName: entity, predicate: try FetchPredicate(format: condition(entity, depth: 2)))
    if chance(2) { request.sortDescriptors.append(FetchSortDescriptor(key(entity), ascending: chance(2))) }
    request.sortDescriptors.append(FetchSortDescriptor("number"))
    return request
  }

  private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }
  private mutating func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
  private mutating func number() -> Int { Int.random(in: 0..<100, using: &random) }
  private mutating func comparison() -> String { pick(["==", "!=", "<", ">", ">="]) }

  /// A path of relationships: at most one to-many unless several are allowed, in the last position if required.
  private mutating func walk(_ entity: String, length: Int, toMany: ClosedRange<Int>) -> (path: [String], entity: String)? {
    var (path, at, count): ([String], String, Int) = ([], entity, 0)
    for step in 0..<length {
      let relationships = model.entity(named: at)?.relationships.filter { relationship in
        let total = count + (relationship.isToMany ? 1 : 0)
        return total <= toMany.upperBound && (step < length - 1 || total >= toMany.lowerBound)
      }
      guard let chosen = relationships?.randomElement(using: &random) else { return nil }
      path.append(chosen.name)
      at = model.entities[chosen.destinationEntity].name
      if chosen.isToMany { count += 1 }
    }
    return count >= toMany.lowerBound ? (path, at) : nil
  }

  /// A path of to-one relationships to a to-many one.
  private mutating func collection(_ entity: String) -> (path: String, entity: String) {
    while true {
      guard let (toOne, at) = walk(entity, length: Int.random(in: 0...2, using: &random), toMany: 0...0),
        let (last, end) = walk(at, length: 1, toMany: 1...1)
      else {
        // A note leads to a collection through its owner.
        if let (last, end) = walk("Owner", length: 1, toMany: 1...1), entity == "Note" { return ("owner." + last[0], end) }
        continue
      }
      return ((toOne + last).joined(separator: "."), end)
    }
  }

  private mutating func condition(_ entity: String, depth: Int) -> String {
    if depth > 0, chance(3) {
      let parts = "(\(condition(entity, depth: depth - 1))) \(pick(["AND", "OR"])) (\(condition(entity, depth: depth - 1)))"
      return chance(4) ? "NOT (\(parts))" : parts
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1:
      guard let (path, _) = walk(entity, length: Int.random(in: 1...3, using: &random), toMany: 0...0) else { break }
      let joined = path.joined(separator: ".")
      return pick(["\(joined).rank \(comparison()) \(number())", "\(joined) == nil", "\(joined) != nil", "\(joined).name == nil"])
    case 2, 3:
      let (path, _) = collection(entity)
      return "\(path).@count \(comparison()) \(Int.random(in: 0...3, using: &random))"
    case 4:
      let (path, _) = collection(entity)
      return pick(["\(path).@sum.rank > \(number())", "\(path).@max.rank < \(number())", "\(path).@min.rank == nil"])
    case 5, 6:
      guard let (path, _) = walk(entity, length: Int.random(in: 1...3, using: &random), toMany: 1...2) else { break }
      return "\(pick(["ANY", "ALL", "NONE"])) \(path.joined(separator: ".")).rank \(comparison()) \(number())"
    default:
      let (path, at) = collection(entity)
      guard let (inner, _) = walk(at, length: 1, toMany: 1...1) else { return "\(path).@count > 0" }
      return "SUBQUERY(\(path), $x, $x.\(inner[0]).@count > 0 AND $x.rank < \(number())).@count > 0"
    }
    return "rank < \(number())"
  }

  private mutating func key(_ entity: String) -> String {
    if chance(2) { return collection(entity).path + ".@count" }
    guard let (path, _) = walk(entity, length: Int.random(in: 1...2, using: &random), toMany: 0...0) else { return "name" }
    return path.joined(separator: ".") + ".rank"
  }
}
