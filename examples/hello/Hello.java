// The smallest CGI program.
public class Hello {
  public static void main(String[] words) {
    System.out.print("Content-Type: text/plain\r\n\r\nHello, world!\n");
  }
}
