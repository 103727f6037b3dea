import Foundation
import ObjectModel

/// An attribute whose transformer is not registered.
public struct MissingTransformer: Sendable, Hashable, CustomStringConvertible {
  /// The entity that declares the attribute.
  public let entityName: String
  /// The name of the attribute. Attributes of composites have dotted names.
  public let attributeName: String
  /// The name under which to register a transformer.
  public let transformerName: String

  /// A message that names the attribute and the transformer.
  public var description: String { "“\(entityName).\(attributeName)” needs the transformer “\(transformerName)”" }
}

// MARK: - Finding missing transformers

extension PersistentStoreCoordinator {
  /// The attributes of the model whose transformers are currently not registered. Using such an attribute throws. See
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
    throw StoreError(
      .missingTransformers(missing.map(\.description), entity: first.entityName, property: first.attributeName), operation: .open,
      path: description.url?.path)
  }
}
