package import ObjectModel

/// An array of references. If the references belong to one entity and have consecutive keys, as in most fetches of all objects, only the
/// first one and the count are stored.
package struct CompactReferenceArray {
  private var first = ObjectReference(rawValue: 0)
  /// All references; `nil` while they are consecutive.
  private var list: [ObjectReference]?
  package private(set) var count = 0

  package init() {}

  package init(_ references: [ObjectReference]) {
    list = references
    count = references.count
  }

  /// Returns the reference at a valid position.
  @inline(__always) package subscript(position: Int) -> ObjectReference {
    list.map { $0[position] } ?? ObjectReference(rawValue: first.rawValue + Int64(position))
  }

  @inline(__always) package mutating func append(_ reference: ObjectReference) {
    if list == nil, count == 0 || reference.rawValue == first.rawValue + Int64(count) {
      if count == 0 { first = reference }
    } else {
      appendToList(reference)
    }
    count += 1
  }

  private mutating func appendToList(_ reference: ObjectReference) {
    if list?.append(reference) == nil { list = (0..<count).map { self[$0] } + [reference] }
  }

  package var byteCount: Int { (list?.count ?? 0) * 8 }
}
