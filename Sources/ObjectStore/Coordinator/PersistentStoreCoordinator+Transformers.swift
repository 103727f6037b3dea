// PersistentStoreCoordinator+Transformers: transformers that a model names and nobody has registered.
import Foundation
import ObjectModel

/// An attribute whose transformer is not registered.
public struct MissingTransformer: Sendable, Hashable, CustomStringConvertible {
  /// The entity that declares the attribute.
  public let entityName: String
  /// The attribute; a part of a composite has a dotted name.
  public let attributeName: String
  /// The name to register a transformer under.
  public let transformerName: String

  /// The attribute and the name, in words.
  public var description: String { "“\(entityName).\(attributeName)” needs the transformer “\(transformerName)”" }
}

extension PersistentStoreCoordinator {
  /// The attributes of the model whose transformers are not registered at this moment: using one throws. See
  /// ``PersistentStoreDescription/requiresTransformers``.
  public var missingTransformers: [MissingTransformer] { missingTransformers(of: Array(compiledModel.entities.indices)) }

  private func missingTransformers(of entityNumbers: [Int]) -> [MissingTransformer] {
    entityNumbers.flatMap { number in
      let entity = compiledModel.entities[number]
      return entity.slots.compactMap { slot -> MissingTransformer? in
        guard slot.declaringEntity == number, let attribute = slot.attribute, attribute.type == .transformable,
          let name = attribute.valueTransformerName, !AttributeTransformers.isAvailable(name)
        else { return nil }
        return MissingTransformer(entityName: entity.name, attributeName: slot.name, transformerName: name)
      }
    }
  }

  func checkTransformers(_ entityNumbers: [Int], _ description: PersistentStoreDescription) throws {
    let missing = missingTransformers(of: entityNumbers)
    guard let first = missing.first else { return }
    var error = StoreError(
      .invalidRequest,
      missing.map(\.description).joined(separator: "; ") + "; call AttributeTransformers.register(_:forName:) before the store is opened.",
      operation: .open, path: description.url?.path)
    error.entityName = first.entityName
    error.propertyName = first.attributeName
    throw error
  }
}
