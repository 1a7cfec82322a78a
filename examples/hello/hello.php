#!/usr/bin/php-cgi
<?php
header('Content-Type: text/plain');
echo "Hello, world!\n";
