// ModelVersionHash: a digest per entity that tells whether a store fits a model.
import Foundation

enum ModelVersionHash {
  static func hashes(of model: ManagedObjectModel) -> [String: Data] { [:] }
  static func checksum(of entities: [CompiledEntity], hashes: [String: Data]) -> String {
    entities.map { "\($0.name):\($0.slots.map(\.name)):\($0.toManyRelationships.map(\.name))" }.joined()
  }
}
