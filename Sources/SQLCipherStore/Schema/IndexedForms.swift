import ObjectModel
import ObjectQuery

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
  /// What is in some index as it is, wherever.
  private var plain: Set<Form> = []

  init(_ model: CompiledModel) {
    for entity in model.entities {
      for constraint in entity.entityDescription.uniquenessConstraints {
        for name in constraint { if let slot = Self.slot(name, of: entity) { plain.insert(Self.form(slot, [])) } }
        // Of an inherited one it holds rows of the subentity only.
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

  /// Whether any index folds texts.
  var hasFolded: Bool { !folded.isEmpty }

  /// Whether an index begins with an attribute, folded so.
  func begins(with slot: CompiledSlot, folding: ComparisonOptions) -> Bool { leading.contains(Self.form(slot, folding)) }

  /// Whether an index has an attribute, folded so.
  func holds(_ slot: CompiledSlot, folding: ComparisonOptions) -> Bool { !folded.isEmpty && folded.contains(Self.form(slot, folding)) }

  /// Whether an index has an attribute as it is, at its beginning or behind.
  func holdsPlain(_ slot: CompiledSlot) -> Bool { plain.contains(Self.form(slot, [])) }

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
