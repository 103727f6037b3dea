// FetchPredicate+Block: conditions written in Swift on managed objects.
public import ObjectQuery
import ObjectStore

extension FetchPredicate {
  /// A condition written in Swift on objects of a class.
  ///
  /// ```swift
  /// request.predicate = try FetchPredicate(format: "price < 10") && .block { (book: Book) in book.title.isPalindrome }
  /// request.allowsInMemoryFiltering = true
  /// ```
  ///
  /// - Parameters:
  ///   - name: What errors and printed predicates call the condition; by default its place in the source.
  ///   - body: Whether an object meets the condition. The fetch throws what this throws.
  public static func block<Object: ManagedObject>(
    _ name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Object) throws -> Bool
  ) -> FetchPredicate {
    let name = name ?? "\(fileID):\(line)"
    let block = BlockPredicate(name) { object in
      guard let object = object as? Object else {
        throw StoreError(.blockForOtherClass(name: name, expected: "\(Object.self)", found: "\(Swift.type(of: object))"), operation: .fetch)
      }
      return try body(object)
    }
    return .block(block)
  }
}
