import ObjectModel
import ObjectQuery

/// The attributes in a model's indexes, by how the index folds them.
struct IndexedForms: Sendable {
  private struct Form: Hashable {
    let entity: Int
    let slot: Int
    let folding: ComparisonOptions
  }
  /// The first elements of indexes.
  private var leading: Set<Form> = []
  /// The folded elements of indexes, at any position.
  private var folded: Set<Form> = []
  /// The unfolded elements of indexes, at any position.
  private var plain: Set<Form> = []

  init(_ model: CompiledModel) {
    for entity in model.entities {
      for constraint in entity.entityDescription.uniquenessConstraints {
        for name in constraint { if let slot = Self.slot(name, of: entity) { plain.insert(Self.form(slot, [])) } }
        // The index of a constraint on an inherited attribute contains only rows of the subentity.
        guard let slot = constraint.first.flatMap({ Self.slot($0, of: entity) }), slot.declaringEntity == entity.number else { continue }
        leading.insert(Self.form(slot, []))
      }
      for index in entity.entityDescription.indexes {
        for (position, element) in index.elements.enumerated() {
          guard element.kind == .binary, let name = element.propertyName, let slot = Self.slot(name, of: entity) else { continue }
          let form = Self.form(slot, element.folding)
          if position == 0, index.partialIndexPredicate == nil { leading.insert(form) }
          if element.folding.isEmpty { plain.insert(form) } else { folded.insert(form) }
        }
      }
    }
  }

  var hasFolded: Bool { !folded.isEmpty }

  /// Returns whether an index starts with an attribute in a folding.
  func begins(with slot: CompiledSlot, folding: ComparisonOptions) -> Bool { leading.contains(Self.form(slot, folding)) }

  /// Returns whether an index contains an attribute in a folding.
  func contains(_ slot: CompiledSlot, folding: ComparisonOptions) -> Bool { !folded.isEmpty && folded.contains(Self.form(slot, folding)) }

  /// Returns whether an index contains an attribute unfolded, at any position.
  func containsPlain(_ slot: CompiledSlot) -> Bool { plain.contains(Self.form(slot, [])) }

  private static func form(_ slot: CompiledSlot, _ folding: ComparisonOptions) -> Form {
    Form(entity: slot.declaringEntity, slot: slot.index, folding: folding)
  }

  private static func slot(_ name: String, of entity: CompiledEntity) -> CompiledSlot? { entity.slots.first { $0.name == name } }
}

extension FetchIndexElement {
  /// The comparison options that the element supports.
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
  /// The folding options in the brackets of the predicate format; empty if there are none.
  var foldingMark: String {
    let letters = (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
    return letters.isEmpty ? "" : "[\(letters)]"
  }
}
