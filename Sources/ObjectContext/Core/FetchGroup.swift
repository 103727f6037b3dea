// FetchGroup: objects that came together and therefore fault together.
package import ObjectModel
import ObjectStore

/// Objects that were read together, or are the destinations of such: when one fires, its unfired siblings are read with it.
///
/// A group knows references only, so that it keeps no row in memory that nobody else holds.
package final class FetchGroup {
  package let number: UInt32
  package let space: UInt32
  /// The objects; empty for the destinations of another group's.
  private let references: [ObjectReference]
  /// The group whose objects' slot leads to this one's.
  private weak var sources: FetchGroup?
  private let slot: Int
  /// How many of its objects' rows are read together, at most.
  package let batch: Int
  /// Whether it was asked for since it was last passed over.
  var wasUsed = false
  /// The numbers of the groups made of this one's to-one slots.
  var destinationGroups: [Int: UInt32] = [:]

  init(number: UInt32, space: UInt32, references: [ObjectReference], batch: Int) {
    self.number = number
    self.batch = batch
    self.space = space
    self.references = references
    slot = 0
  }

  init(number: UInt32, destinationsOf sources: FetchGroup, slot: Int) {
    self.number = number
    space = sources.space
    references = []
    batch = sources.batch
    self.sources = sources
    self.slot = slot
  }

  /// The bytes it holds.
  var byteCount: Int { references.count * 8 }

  package var count: Int { sources?.count ?? references.count }

  /// The object at a position; null when the to-one it comes from is empty or not at hand.
  ///
  /// - Parameter destination: The destination of an object's to-one relationship as far as it is at hand.
  package func reference(at position: Int, destination: (_ source: ObjectReference, _ slot: Int) -> ObjectReference?) -> ObjectReference {
    guard let sources else { return position < references.count ? references[position] : ObjectReference(rawValue: 0) }
    let source = sources.reference(at: position, destination: destination)
    guard source.key > 0 else { return ObjectReference(rawValue: 0) }
    return destination(source, slot) ?? ObjectReference(rawValue: 0)
  }
}
