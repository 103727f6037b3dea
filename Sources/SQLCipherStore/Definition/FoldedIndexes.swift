// FoldedIndexes: indexes over folded texts: what they are called in SQL, and what happens to those of another folding.
import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

/// The attributes of a model that have an index, by how it folds them.
struct IndexedForms: Sendable {
  private struct Form: Hashable {
    let entity: Int
    let slot: Int
    let folding: ComparisonOptions
  }
  /// What some index begins with.
  private var leading: Set<Form> = []
  /// What is folded in some index, at its beginning or behind.
  private var folded: Set<Form> = []

  init(_ model: CompiledModel) {
    for entity in model.entities {
      for constraint in entity.entityDescription.uniquenessConstraints {
        // Of an inherited one it holds rows of the subentity only.
        guard let slot = constraint.first.flatMap({ Self.slot($0, of: entity) }), slot.declaringEntity == entity.number else { continue }
        leading.insert(Self.form(slot, []))
      }
      for index in entity.entityDescription.indexes {
        for (position, element) in index.elements.enumerated() {
          guard element.kind == .binary, let name = element.propertyName, let slot = Self.slot(name, of: entity) else { continue }
          let form = Self.form(slot, element.folding)
          if position == 0, index.partialIndexPredicate == nil { leading.insert(form) }
          if !element.folding.isEmpty { folded.insert(form) }
        }
      }
    }
  }

  /// Whether any index folds texts.
  var hasFolded: Bool { !folded.isEmpty }

  /// Whether an index begins with an attribute, folded so.
  func begins(with slot: CompiledSlot, folding: ComparisonOptions) -> Bool { leading.contains(Self.form(slot, folding)) }

  /// Whether an index has an attribute, folded so.
  func holds(_ slot: CompiledSlot, folding: ComparisonOptions) -> Bool { !folded.isEmpty && folded.contains(Self.form(slot, folding)) }

  private static func form(_ slot: CompiledSlot, _ folding: ComparisonOptions) -> Form {
    Form(entity: slot.declaringEntity, slot: slot.index, folding: folding)
  }

  private static func slot(_ name: String, of entity: CompiledEntity) -> CompiledSlot? { entity.slots.first { $0.name == name } }
}

extension FetchIndexElement {
  /// The options of comparisons that the element answers.
  var folding: ComparisonOptions {
    switch collation {
    case .binary: []
    case .caseInsensitive: .caseInsensitive
    case .diacriticInsensitive: .diacriticInsensitive
    case .caseAndDiacriticInsensitive: [.caseInsensitive, .diacriticInsensitive]
    }
  }
}

extension ComparisonOptions {
  /// The options that fold, in the brackets of the format language; nothing where none does.
  var foldingMark: String {
    let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}

/// The indexes of a file that are made over a function of ours.
///
/// The function's name holds the version of the folding (`cd_fold_1_16_0`): an index that another version made is never used for a condition, and the
/// store writes no row past it, since nobody knows its function. Opening the store for writing replaces it.
enum FoldedIndexes {
  private static let prefix = SQLFunctions.fold + "_"

  /// The names of indexes over folded texts and over expressions, with their functions' names.
  static func inFile(_ connection: Connection) throws -> [(index: String, function: String)] {
    var result: [(index: String, function: String)] = []
    for found in try connection.objects(.functionIndexes) {
      for prefix in [prefix, SQLFunctions.indexedPrefix] {
        var rest = Substring(found.sql)
        while let start = rest.range(of: prefix) {
          rest = rest[start.upperBound...]
          let version = rest.prefix { ("0"..."9").contains($0) || $0 == "_" }
          if rest.dropFirst(version.count).first == "(" { result.append((found.name, prefix + version)) }
        }
      }
    }
    return result
  }

  /// Makes all functions known to a connection that copies or checks a file, those of its indexes too, whatever their version.
  static func register(on connection: Connection) throws {
    try SQLFunctions.register(on: connection)
    for function in Set(try inFile(connection).map(\.function)) {
      if function.hasPrefix(prefix) {
        try SQLFunctions.registerFold(function, on: connection)
      } else {
        try SQLFunctions.registerIndexed(function, on: connection)
      }
    }
    for function in Set(try FullTextFile.indexes(connection).map(\.function)) { try SQLFunctions.registerWords(function, on: connection) }
  }

  /// The statements that take the indexes, and triggers that call functions of ours, out of a copy for other programs, which could not write a row past
  /// them; with them goes the note that all of them are there, so that the store has them again once it is encrypted and opened.
  static func removal(from connection: Connection, schema: String) throws -> [String] {
    let indexes = Set(try inFile(connection).map(\.index))
    let statements =
      try indexes.sorted().map { "DROP INDEX \(schema).\(try Identifier.quoted($0))" }
      + FullTextFile.removal(from: connection, schema: schema) + DerivationTriggers.removal(from: connection, schema: schema)
    guard !statements.isEmpty else { return [] }
    return statements + [BookkeepingTables.forgettingAuxiliaries(in: schema)]
  }
}
