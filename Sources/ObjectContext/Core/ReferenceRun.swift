// ReferenceRun: references in order, which take no memory while their keys follow each other.
package import ObjectModel

/// References in order. Those of one entity whose keys follow each other, as those of most fetches of all objects do, are their first and their number.
package struct ReferenceRun {
  private var first = ObjectReference(rawValue: 0)
  /// All of them; nil while they follow each other.
  private var list: [ObjectReference]?
  package private(set) var count = 0

  package init() {}

  /// References as they are given.
  package init(_ references: [ObjectReference]) {
    list = references
    count = references.count
  }

  /// The reference at a position, which there has to be.
  @inline(__always) package subscript(position: Int) -> ObjectReference {
    list.map { $0[position] } ?? ObjectReference(rawValue: first.rawValue + Int64(position))
  }

  /// Appends a reference.
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

  /// The bytes it holds.
  package var byteCount: Int { (list?.count ?? 0) * 8 }
}
