import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import XCTest
import _StoreSpecification
import _TestSupport

@testable import SQLCipherStore

/// Migrates stores with rows through the consecutive versions of model bundles, and reports the outcome of each pair.
struct ModelSurvey {
  enum Outcome: Equatable {
    case same
    case migrated
    /// With the changes that cannot be inferred.
    case refused([String])
    case rejectedByRows(String)
    /// One of the versions cannot be read.
    case unreadable(String)
    /// The migrated store lacks expected contents.
    case wrong([String])
  }

  struct Pair {
    let bundle, older, newer: String
    let outcome: Outcome
  }

  /// The bundles in a folder and its subfolders, sorted by path.
  static func bundles(in folder: URL) -> [URL] {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    var result: [URL] = []
    while let url = files?.nextObject() as? URL { if url.pathExtension == "xcdatamodeld" { result.append(url) } }
    return result.sorted { $0.path < $1.path }
  }

  static func pairs(of bundle: URL) throws -> [Pair] {
    let versions = try FileManager.default.contentsOfDirectory(at: bundle, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "xcdatamodel" }
      .sorted { name($0).compare(name($1), options: [.numeric, .caseInsensitive]) == .orderedAscending }
    return try zip(versions, versions.dropFirst()).map { older, newer in
      Pair(bundle: name(bundle), older: name(older), newer: name(newer), outcome: try outcome(older, newer))
    }
  }

  private static func name(_ url: URL) -> String { url.deletingPathExtension().lastPathComponent }

  private static func outcome(_ first: URL, _ second: URL) throws -> Outcome {
    let older, newer: CompiledModel
    do {
      (older, newer) = (try CompiledModel(ManagedObjectModel(contentsOf: first)), try CompiledModel(ManagedObjectModel(contentsOf: second)))
    } catch {
      return .unreadable("\(error)")
    }
    let difference = ModelDifference(from: older, to: newer)
    let store = try TestStore()
    defer { store.folder.remove() }
    let before = try filled(store, older)
    do {
      let open = try OpenStore(store.description, model: newer)
      defer { try? open.close() }
      guard difference.canBeInferred else { return .wrong(["a store was migrated though the change cannot be inferred"]) }
      var problems = try before.problems(after: SurveyedRows(open), difference, older, newer)
      try open.close()
      let url = store.url
      problems += try waitFor { try await SQLCipherStoreFile.unlock(at: url, key: TestStore.key).verify(.full) }
      return problems.isEmpty ? difference.hasEqualHashes ? .same : .migrated : .wrong(problems)
    } catch let error as StoreError where error.code == .mappingNotInferred {
      guard !difference.canBeInferred else { return .wrong(["a change that can be inferred was refused: \(error)"]) }
      return .refused(difference.obstacles.map(\.description))
    } catch let error as StoreError where error.code == .migrationFailed || error.code == .migrationConstraintViolation {
      let isConditional = difference.changes.contains { if case .conditional = $0.effect { true } else { false } }
      return isConditional ? .rejectedByRows(error.message) : .wrong([error.message])
    } catch {
      return .wrong(["\(error)"])
    }
  }

  // MARK: Rows

  private static let objectsOfEntity = 3

  /// Creates a store with rows of every entity, linked by every relationship.
  private static func filled(_ store: TestStore, _ model: CompiledModel) throws -> SurveyedRows {
    let open = try OpenStore(store.description, model: model)
    defer { try? open.close() }
    var objects: [[ManagedObjectID]] = Array(repeating: [], count: model.entities.count)
    for entity in model.entities where !entity.isAbstract {
      objects[entity.number] = try open.newIDs(entity.name, count: objectsOfEntity)
    }
    func all(_ number: Int) -> [ManagedObjectID] { model.entities[number].subtree.flatMap { objects[$0] } }
    var values: [ManagedObjectID: [String: Slot]] = [:]
    for entity in model.entities {
      for (index, id) in objects[entity.number].enumerated() {
        for slot in entity.slots where slot.attribute != nil && !slot.isTransient && slot.attribute?.derivationExpression == nil {
          // Each attribute is nil in one object.
          if slot.isOptional, (index + slot.index).isMultiple(of: objectsOfEntity) { continue }
          // Values are unique within an entity hierarchy, for uniqueness constraints.
          values[id, default: [:]][slot.name] = value(slot, entity.number * objectsOfEntity + index + 1)
        }
      }
    }
    var links: [(ManagedObjectID, String, [ManagedObjectID])] = []
    for relationship in model.relationships where !relationship.isTransient {
      let (sources, targets) = (all(relationship.sourceEntity), all(relationship.destinationEntity))
      let inverse = model.inverse(of: relationship)
      guard !sources.isEmpty, !targets.isEmpty, inverse?.isTransient != true else { continue }
      if relationship.isToMany {
        guard inverse?.isToMany ?? true, inverse.map({ relationship.id <= $0.id }) ?? true else { continue }
        for (index, source) in sources.enumerated() {
          links.append((source, relationship.name, Array(Set([targets[index % targets.count], targets[(index + 1) % targets.count]]))))
        }
      } else if let inverse, !inverse.isToMany {
        guard relationship.id <= inverse.id else { continue }
        // Skip pairs that conflict within a hierarchy.
        for (source, target) in zip(sources, inverse.id == relationship.id ? [] : targets.reversed()) {
          values[source, default: [:]][relationship.name] = target.slot
          values[target, default: [:]][inverse.name] = source.slot
        }
      } else {
        for (index, source) in sources.enumerated() {
          values[source, default: [:]][relationship.name] = targets[index / 2 % targets.count].slot
        }
      }
    }
    try open.save { save in
      for id in objects.flatMap({ $0 }) { try save.insert(id, values[id] ?? [:]) }
      for (source, name, targets) in links { try save.change(source, name, add: targets) }
    }
    let rows = try SurveyedRows(open)
    try open.close()
    return rows
  }

  /// A value that every number type can represent.
  private static func value(_ slot: CompiledSlot, _ number: Int) -> Slot {
    guard let type = slot.attributeType else { return .null }
    switch type {
    case .boolean: return .int(Int64(number & 1))
    case .integer16, .integer32, .integer64: return .int(Int64(number))
    case .double, .float, .date: return .real(Double(number))
    case .decimal: return AttributeType.integer64.converted(.int(Int64(number)), to: .decimal) ?? .null
    case .string: return .text("\(slot.name) \(number)")
    case .uri: return .text("https://example.org/\(slot.index)/\(number)")
    case .uuid: return .bytes(Data(repeating: 0, count: 14) + [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)])
    case .binary, .transformable: return .bytes(Data("\"\(slot.name) \(number)\"".utf8))
    case .undefined, .composite: return .null
    }
  }
}

/// The rows of a store: for each object, its entity, its values and the keys of its related objects.
struct SurveyedRows {
  struct Row {
    let entity: Int
    var values: [String: Slot] = [:]
    var links: [String: Set<Int64>] = [:]
  }
  /// The rows by root entity number and key.
  private(set) var rows: [Int: [Int64: Row]] = [:]

  init(_ open: OpenStore) throws {
    let model = open.model
    for root in model.entities where root.parent == nil {
      for row in try open.rows(FetchSpecification(entityName: root.name)) {
        let entity = model.entities[row.entityNumber]
        var found = Row(entity: entity.number)
        for slot in entity.slots where !slot.isTransient && slot.kind != .none {
          let value = try open.value(row, slot.name)
          if slot.relationship == nil {
            found.values[slot.name] = value
          } else if case .int(let reference) = value {
            found.links[slot.name] = [ObjectReference(rawValue: reference).key]
          }
        }
        let id = ManagedObjectID(space: open.scope.objectIDSpace.number, entityNumber: UInt32(entity.number), key: row.key)
        for relationship in entity.toManyRelationships where !relationship.isTransient {
          let keys = Set(try open.members(id, relationship.name).map(\.key))
          if !keys.isEmpty { found.links[relationship.name] = keys }
        }
        rows[root.number, default: [:]][row.key] = found
      }
    }
  }

  /// Returns the differences between a migrated store and the contents expected from these rows.
  func problems(
    after: SurveyedRows, _ difference: ModelDifference, _ older: CompiledModel, _ newer: CompiledModel
  ) throws -> [String] {
    var problems: [String] = []
    var destinations: [Int: Int] = [:]
    for (number, source) in difference.sources.enumerated() { if let source { destinations[source] = number } }
    func row(_ relationship: CompiledRelationship, _ key: Int64) -> Row? {
      after.rows[newer.entities[relationship.destinationEntity].root]?[key]
    }
    for (_, objects) in rows {
      for (key, before) in objects {
        guard let number = destinations[before.entity] else { continue }
        let entity = newer.entities[number]
        let place = "\(entity.name)/\(key)"
        guard let found = after.rows[entity.root]?[key], found.entity == number else {
          problems.append("\(place) is missing")
          continue
        }
        for slot in entity.slots where !slot.isTransient && slot.attribute != nil && slot.attribute?.derivationExpression == nil {
          guard let name = difference.sourceName(ofProperty: slot.name, in: number), let value = before.values[name],
            case .attribute(let known)? = older.entities[before.entity].property(named: name), let type = known.attributeType
          else { continue }
          var expected = type.converted(value, to: slot.attributeType ?? type)
          if expected?.isNull ?? false, !slot.isOptional, known.isOptional { expected = slot.defaultValue }
          if found.values[slot.name] != expected { problems.append("\(place).\(slot.name) has another value") }
        }
        for relationship in entity.relationships where !relationship.isTransient {
          guard let name = difference.sourceName(ofProperty: relationship.name, in: number) else { continue }
          let expected = (before.links[name] ?? []).filter { row(relationship, $0) != nil }
          let keys = found.links[relationship.name] ?? []
          if !keys.isSuperset(of: expected) { problems.append("\(place).\(relationship.name) lacks links") }
        }
      }
    }
    for (root, objects) in after.rows {
      for (key, found) in objects {
        for relationship in newer.entities[found.entity].relationships where !relationship.isTransient {
          guard let inverse = newer.inverse(of: relationship), !inverse.isTransient else { continue }
          for other in found.links[relationship.name] ?? [] where row(relationship, other)?.links[inverse.name]?.contains(key) != true {
            problems.append("\(newer.entities[root].name)/\(key).\(relationship.name) and \(inverse.name) contradict each other")
          }
        }
      }
    }
    return problems
  }
}
