public import ObjectQuery
import ObjectStore

extension FetchPredicate {
  /// Creates a condition written in Swift for objects of a class.
  ///
  /// ```swift
  /// request.predicate = try FetchPredicate(format: "price < 10") && .block { (book: Book) in book.title.isPalindrome }
  /// request.allowsInMemoryFiltering = true
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors and printed predicates. Defaults to the source location.
  ///   - fileID: The file of the default name.
  ///   - line: The line of the default name.
  ///   - body: Returns whether an object satisfies the condition. Its errors are rethrown by the fetch.
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

extension StoreError.Reason {
  static func blockForOtherClass(name: String, expected: String, found: String) -> Self {
    Self(.invalidRequest, "The block predicate \(name) is for objects of the class \(expected), not of \(found).")
  }
}
