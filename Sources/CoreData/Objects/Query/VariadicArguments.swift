// VariadicArguments: values that are CVarArg on Apple's systems and not on Linux, so that `value as CVarArg` compiles.
public import Foundation
public import ObjectModel

/// A value that a format shows as its text.
private func shown(_ value: Any) -> any CVarArg { NSString(string: "\(value)") }

extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension URL: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Array: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Set: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension ManagedObjectID: CVarArg, _CVarArgObject {
  /// The value's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSManagedObject: CVarArg, _CVarArgObject {
  /// The object's text.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the text.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
