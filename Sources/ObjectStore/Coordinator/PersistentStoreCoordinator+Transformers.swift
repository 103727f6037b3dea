// PersistentStoreCoordinator+Transformers: transformers that a model names and nobody has registered.
import Foundation
import ObjectModel

extension PersistentStoreCoordinator {
  /// The attributes of the model whose transformers are not registered at this moment: using such an attribute throws. See
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
